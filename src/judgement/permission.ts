import { TroupeError } from '../errors.ts'

/*
 * Decides whether a call may be made, from rules such as `Bash(npm test:*)` or `Write(src/**)`.
 * 1. A rule that denies wins over one that asks, and that over one that allows, whichever list it comes from.
 * 2. Where a policy allows a tool only in some cases, every other case is denied.
 * 3. A shell command is allowed only if each of its parts is; it is denied if any part is. What cannot be taken apart
 *    (substitution, redirection) matches no allowance but the exact one.
 */

/** What one author (a run's configuration, an agent's file) says about calls. */
export interface Policy {
  allow?: readonly string[]
  ask?: readonly string[]
  deny?: readonly string[]
  /** `read`: nothing may act. `ask`: whatever acts is asked for. Default: what no rule names is allowed. */
  mode?: 'read' | 'ask'
}

export interface JudgedCall {
  tool: string
  /** What the call is about: a path, a command, an address. */
  subject?: string
  acts: boolean
}

export interface Judgement {
  answer: 'allow' | 'ask' | 'deny'
  /** In words, for the model and the log. */
  reason: string
  /** What would have been allowed. */
  allowed: string[]
}

/** The strictest of what the policies say. */
export function judge(policies: readonly Policy[], call: JudgedCall): Judgement {
  const verdicts = policies.map((policy) => judgeOne(policy, call))
  return (
    verdicts.find(({ answer }) => answer === 'deny') ??
    verdicts.find(({ answer }) => answer === 'ask') ??
    verdicts.find(({ allowed }) => allowed.length > 0) ?? { answer: 'allow', reason: 'no rule names it', allowed: [] }
  )
}

function judgeOne(policy: Policy, call: JudgedCall): Judgement {
  const allowed = (policy.allow ?? []).filter((rule) => parseRule(rule).tool === call.tool)
  const denied = policy.deny?.find((rule) => touches(rule, call))
  if (denied !== undefined) return { answer: 'deny', reason: `the rule ${denied} denies it`, allowed }
  const asked = policy.ask?.find((rule) => touches(rule, call))
  if (asked !== undefined) return { answer: 'ask', reason: `the rule ${asked} wants it asked for`, allowed }
  const granted = granting(policy.allow ?? [], call)
  if (granted !== undefined) return { answer: 'allow', reason: `the rule ${granted} allows it`, allowed }
  if (allowed.length > 0) return { answer: 'deny', reason: `only ${allowed.join(', ')} is allowed`, allowed }
  if (policy.mode === 'read' && call.acts) return { answer: 'deny', reason: 'nothing may be changed now', allowed }
  if (policy.mode === 'ask' && call.acts) return { answer: 'ask', reason: 'whatever acts is asked for', allowed }
  return { answer: 'allow', reason: 'no rule names it', allowed }
}

export interface Rule {
  tool: string
  pattern: string | undefined
}

export function parseRule(rule: string): Rule {
  const parts = /^([^()\s]+)(?:\((.*)\))?$/s.exec(rule.trim())
  if (!parts?.[1]) {
    throw new TroupeError('invalid_input', `'${rule}' is not a permission rule`, {
      hint: 'write Tool or Tool(pattern), such as Bash(npm test:*) or Write(src/**)',
    })
  }
  return { tool: parts[1], pattern: parts[2] }
}

/** Rules that name no tool that exists: they protect or allow nothing, which their author should know. */
export function idleRules(policy: Policy, tools: readonly string[]): string[] {
  const rules = [...(policy.allow ?? []), ...(policy.ask ?? []), ...(policy.deny ?? [])]
  return rules.filter((rule) => !tools.some((tool) => nameMatches(parseRule(rule).tool, tool)))
}

/** The rule that allows the call: for a command, one for each of its parts. */
function granting(rules: readonly string[], call: JudgedCall): string | undefined {
  const whole = rules.find((rule) => matches(rule, call))
  if (whole !== undefined || call.tool !== 'Bash') return whole
  const command = call.subject ?? ''
  const pieces = piecesOf(command)
  if (pieces.length === 0 || /[`<>]|\$[({]/.test(command)) return undefined
  const granted = pieces.map((piece) => rules.find((rule) => matches(rule, { ...call, subject: piece }, 'piece')))
  return granted.every((rule) => rule !== undefined) ? granted.join(' and ') : undefined
}

/**
 * True when the rule is about the call, or about any part of it. What cannot be judged (a path that climbs, a shell
 * within the shell) counts as touched: a rule that forbids must not be talked past.
 */
function touches(rule: string, call: JudgedCall): boolean {
  const { tool, pattern } = parseRule(rule)
  if (!covers(tool, call.tool)) return false
  if (pattern === undefined || pattern === '' || pattern === '*') return true
  const subject = call.subject ?? ''
  if (call.tool === 'Bash') return pattern === subject.trim() || commandTouches(pattern, subject)
  if (pattern.startsWith('domain:')) return domainMatches(pattern.slice('domain:'.length), subject)
  if (subject.split(/[\\/]/).includes('..')) return true
  const name = subject.split('/').at(-1) ?? ''
  return globMatches(pattern, subject) || (!pattern.includes('/') && globMatches(pattern, name))
}

function matches(rule: string, call: JudgedCall, as: 'whole' | 'piece' = 'whole'): boolean {
  const { tool, pattern } = parseRule(rule)
  if (!nameMatches(tool, call.tool)) return false
  if (pattern === undefined || pattern === '' || pattern === '*') return true
  const subject = call.subject ?? ''
  if (call.tool === 'Bash') return as === 'whole' ? pattern === subject.trim() : pieceMatches(pattern, subject)
  if (pattern.startsWith('domain:')) return domainMatches(pattern.slice('domain:'.length), subject)
  return globMatches(pattern, subject)
}

function piecesOf(command: string): string[] {
  return command
    .trim()
    .split(/\s*(?:&&|\|\||[;|&\n])\s*/)
    .filter((piece) => piece !== '')
}

const PREFIXES = new Set(
  'if then elif else while until do ! time exec command builtin sudo env nohup nice xargs'.split(' '),
)
const SHELLS = new Set('sh bash dash zsh ksh ash busybox eval source .'.split(' '))

/** Whether a forbidding pattern is about some command in this text, however it is wrapped, quoted or spelled. */
function commandTouches(pattern: string, command: string): boolean {
  const boundaries = command.replaceAll(/\$\(|[`(){}]|[<>]\(/g, '\n')
  return piecesOf(boundaries).some((piece) => {
    const words = piece.replaceAll(/["'\\]/g, '').split(/\s+/)
    while (words[0] !== undefined && (PREFIXES.has(words[0]) || /^\w+=/.test(words[0]) || words[0] === ''))
      words.shift()
    const program = words[0]?.split('/').at(-1) ?? ''
    if (SHELLS.has(program)) return true
    return pieceMatches(pattern, [program, ...words.slice(1)].join(' '))
  })
}

/** What a forbidding rule for one tool is also about: there are other ways to write and to read. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  Write: ['Edit'],
  Edit: ['Write'],
  Read: ['Grep', 'Glob', 'LSP'],
}

function covers(rule: string, tool: string): boolean {
  return nameMatches(rule, tool) || ALSO[rule]?.includes(tool) === true
}

/** `mcp__server` stands for all its tools, and `mcp__server__*` as well. */
function nameMatches(rule: string, tool: string): boolean {
  if (rule === tool || rule === '*') return true
  if ((rule === 'Task' || rule === 'Agent') && tool === 'task') return true
  if (rule.endsWith('*')) return tool.startsWith(rule.slice(0, -1))
  return rule.startsWith('mcp__') && tool.startsWith(`${rule}__`)
}

function pieceMatches(pattern: string, piece: string): boolean {
  if (pattern.endsWith(':*')) {
    const prefix = pattern.slice(0, -2)
    return piece === prefix || piece.startsWith(`${prefix} `)
  }
  return wildcards(pattern).test(piece)
}

function wildcards(pattern: string): RegExp {
  return new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`, 's')
}

function domainMatches(domain: string, address: string): boolean {
  const host = URL.canParse(address) ? new URL(address).hostname : address
  return host === domain || host.endsWith(`.${domain}`)
}

/** Globs over paths: `**` any depth, `*` within a name, `?` one character, `{a,b}` either. A path that climbs matches none. */
export function globMatches(pattern: string, path: string): boolean {
  const clean = path.replaceAll('\\', '/').replace(/^\.\//, '')
  if (clean.split('/').includes('..')) return false
  const tokens = pattern.replace(/^\.\//, '').split(/(\*\*\/|\*\*|\*|\?|\{[^{}]*\})/)
  const source = tokens.map((token) => {
    if (token === '**/') return '(?:[^/]+/)*'
    if (token === '**') return '.*'
    if (token === '*') return '[^/]*'
    if (token === '?') return '[^/]'
    if (token.startsWith('{') && token.endsWith('}'))
      return `(?:${token.slice(1, -1).split(',').map(escaped).join('|')})`
    return escaped(token)
  })
  return new RegExp(`^${source.join('')}$`, 's').test(clean)
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

import type { ProjectFiles } from './project-files.ts'
import type { ArchitectureDecision, BestPractice } from './project-profile.ts'

const DECISION_FOLDERS = [
  'docs/decisions',
  'docs/adr',
  'docs/adrs',
  'docs/architecture/decisions',
  'doc/adr',
  'adr',
  'decisions',
  'docs/architecture/adr',
]
const MAX_DECISIONS = 120
const MAX_SUMMARY = 400

/** The decision records of a project: title and the first sentences of the decision. */
export async function detectDecisions(files: ProjectFiles): Promise<ArchitectureDecision[]> {
  const decisions: ArchitectureDecision[] = []
  for (const folder of DECISION_FOLDERS) {
    for (const name of (await files.list(folder)) ?? []) {
      if (!/\.(?:md|markdown|txt)$/i.test(name) || /^(?:readme|index|template|0+-template)\b/i.test(name)) continue
      if (decisions.length >= MAX_DECISIONS) return decisions
      const path = `${folder}/${name}`
      const text = await files.read(path)
      if (text !== undefined) decisions.push({ ...parseDecision(text, name), path })
    }
  }
  return decisions
}

function parseDecision(text: string, name: string): Omit<ArchitectureDecision, 'path'> {
  const body = text.replace(/^---\n[\s\S]{0,5000}?\n---\n/, '')
  const title = /^#\s{1,4}(.{1,200})$/m.exec(body)?.[1]?.trim() ?? name.replace(/\.\w+$/, '').replace(/[-_]+/g, ' ')
  const section = /^#{1,4}\s{1,4}(?:decision(?: outcome)?|entscheidung)\b.*$/im.exec(body)
  const from = section ? section.index + section[0].length : 0
  const paragraph = body
    .slice(from, from + 8000)
    .split(/\n\s*\n/)
    .map((part) => part.replace(/\s+/g, ' ').trim())
    .find(
      (part) => part !== '' && !/^(?:#|\*{0,2}(?:status|date|deciders?)\b)/i.test(part) && !/^[-*|>]\s*$/.test(part),
    )
  return { title: title.replace(/^\d+[.:)]?\s+/, ''), summary: shortenText(paragraph ?? '', MAX_SUMMARY) }
}

const PRACTICE_FILES = ['AGENTS.md', 'CLAUDE.md', 'CONTRIBUTING.md', '.github/CONTRIBUTING.md', 'docs/CONTRIBUTING.md']
/** Headings of sections with rules. */
const RULES_HEADING = /rule|convention|style|guideline|practice|standard|principle|security|test|coding/i
const MAX_PRACTICES = 40
const MAX_PRACTICE = 240

const LINTERS: readonly (readonly [file: RegExp, text: string])[] = [
  [/^biome\.jsonc?$/, 'Code is formatted and linted with Biome.'],
  [/^(?:\.eslintrc.*|eslint\.config\.[cm]?[jt]s)$/, 'Code is linted with ESLint.'],
  [/^(?:\.prettierrc.*|prettier\.config\.[cm]?js)$/, 'Code is formatted with Prettier.'],
  [/^\.?ruff\.toml$/, 'Code is linted with Ruff.'],
  [/^\.flake8$/, 'Code is linted with flake8.'],
  [/^mypy\.ini$/, 'Types are checked with mypy.'],
  [/^\.golangci\.ya?ml$/, 'Code is linted with golangci-lint.'],
  [/^(?:rustfmt|\.rustfmt)\.toml$/, 'Code is formatted with rustfmt.'],
  [/^\.rubocop\.yml$/, 'Code is linted with RuboCop.'],
  [/^phpstan\.neon(?:\.dist)?$/, 'Code is checked with PHPStan.'],
  [/^\.pre-commit-config\.yaml$/, 'pre-commit hooks run before every commit.'],
  [/^\.editorconfig$/, 'Formatting follows .editorconfig.'],
]

/** Rules from contribution guides and the linters that are configured. */
export async function detectPractices(files: ProjectFiles): Promise<BestPractice[]> {
  const practices: string[] = []
  for (const path of PRACTICE_FILES) {
    const text = await files.read(path)
    if (text !== undefined) practices.push(...listedRules(text))
  }
  const root = (await files.list('.')) ?? []
  const linters = LINTERS.filter(([file]) => root.some((name) => file.test(name))).map(([, text]) => text)
  if (/^\s{0,8}"strict"\s{0,4}:\s{0,4}true/m.test((await files.read('tsconfig.json')) ?? ''))
    linters.push('TypeScript is checked in strict mode.')
  return [...new Set([...practices.slice(0, MAX_PRACTICES), ...linters])].map((text) => ({ text }))
}

/** List items and paragraphs with a bold beginning, under headings about rules. */
function listedRules(text: string): string[] {
  const rules: string[] = []
  let isRules = false
  let isCode = false
  let current = ''
  const flush = () => {
    const rule = shortenText(current.replace(/\*\*/g, '').replace(/\s+/g, ' ').trim(), MAX_PRACTICE)
    if (rule.length > 15) rules.push(rule)
    current = ''
  }
  for (const line of text.split('\n')) {
    if (/^\s{0,3}```/.test(line)) isCode = !isCode
    const heading = /^#{1,4}\s+(.{1,200})/.exec(line)?.[1]
    if (heading !== undefined && !isCode) {
      flush()
      isRules = RULES_HEADING.test(heading)
    } else if (isRules && !isCode) {
      const item = /^\s{0,3}(?:[-*]|\d{1,2}\.)\s+(.*)$/.exec(line)?.[1] ?? /^(\*\*.*)$/.exec(line)?.[1]
      if (item !== undefined) {
        flush()
        current = item
      } else if (line.trim() === '') flush()
      else if (current !== '') current += ` ${line.trim()}`
    }
  }
  flush()
  return rules
}

function shortenText(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text
  const head = text.slice(0, maxCharacters)
  const sentence = head.lastIndexOf('. ')
  return sentence > maxCharacters / 2
    ? head.slice(0, sentence + 1)
    : `${head.slice(0, head.lastIndexOf(' ')).trimEnd()} …`
}

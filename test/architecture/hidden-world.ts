import type { SourceFile } from '../support/source-file.ts'
import type { Node, NodePosition } from '../support/syntax-tree.ts'
import { identifierName, isNode, lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'
import { importsOf } from './imports.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

type Ban = { names: readonly string[]; members: Readonly<Record<string, readonly string[]>> }

const nodeModules =
  /^node:(fs|timers|process|child_process|cluster|dgram|dns|net|tls|http|https|http2|os|worker_threads)\b/
const randomness = ['randomUUID', 'randomBytes', 'randomInt', 'getRandomValues']

const kernelBan: Ban = {
  names: ['setTimeout', 'setInterval', 'Date', 'process', 'performance', 'fetch'],
  members: { Math: ['random'], crypto: randomness, AbortSignal: ['timeout'] },
}
const decisionBan: Ban = {
  names: [...kernelBan.names, 'setImmediate', 'queueMicrotask'],
  members: { ...kernelBan.members, Promise: ['race', 'any'] },
}
const bans: Readonly<Record<string, Ban>> = { kernel: kernelBan, patterns: decisionBan, judgement: decisionBan }

// A clock or a coin toss that the journal does not know makes a resumed run take another branch than the first one.
export function hiddenWorldViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) => {
    const ban = bans[file.path.split('/')[1] ?? '']
    return ban && !isTestFile(file.path) ? [...usesOf(file, ban), ...outsideImports(file)] : []
  })
}

function outsideImports(file: SourceFile): Violation[] {
  return importsOf(file)
    .filter(({ specifier, kind }) => kind !== 'type' && nodeModules.test(withPrefix(specifier)))
    .map(({ line, specifier }) => hidden(file.path, line, specifier))
}

function withPrefix(specifier: string): string {
  return specifier.startsWith('node:') || specifier.startsWith('.') ? specifier : `node:${specifier}`
}

function usesOf(file: SourceFile, ban: Ban): Violation[] {
  const found: Violation[] = []
  walkTree(parseSource(file), (node, place) => {
    const name = bannedUse(node, place, ban)
    if (name) found.push(hidden(file.path, lineNumberAt(file.source, node.start), name))
  })
  return found
}

function hidden(path: string, line: number, name: string): Violation {
  return { rule: 'hidden-world', path, line, message: `uses ${name}; it must come from the context or the World` }
}

function bannedUse(node: Node, place: NodePosition, ban: Ban): string | undefined {
  if (node.type === 'MemberExpression') {
    const [object, property] = [identifierName(node.object) ?? '', identifierName(node.property) ?? '']
    if (object === 'globalThis' && ban.names.includes(property)) return `globalThis.${property}`
    if (memberIsBanned(ban, object, property)) return `${object}.${property}`
  }
  if (node.type === 'VariableDeclarator' && isNode(node.id) && node.id.type === 'ObjectPattern') {
    const object = identifierName(node.init) ?? ''
    const taken = (node.id.properties as Node[]).map((property) => identifierName(property.key) ?? '')
    const banned = taken.find((property) => memberIsBanned(ban, object, property))
    if (banned) return `${object}.${banned}`
  }
  if (node.type === 'ImportSpecifier' && randomness.includes(identifierName(node.imported) ?? ''))
    return identifierName(node.imported)
  if (node.type !== 'Identifier' || !ban.names.includes(String(node.name)) || isLabel(place)) return undefined
  return isGivenTime(node, place) ? undefined : String(node.name)
}

/** `new Date(ms)` only writes a time that was given; without an argument it reads the clock, with more the time zone. */
function isGivenTime(node: Node, { parent, field }: NodePosition): boolean {
  if (identifierName(node) !== 'Date' || parent?.type !== 'NewExpression' || field !== 'callee') return false
  const given = parent.arguments as Node[]
  return given.length === 1 && given[0]?.type !== 'SpreadElement'
}

function memberIsBanned(ban: Ban, object: string, property: string): boolean {
  return Object.hasOwn(ban.members, object) && ban.members[object]?.includes(property) === true
}

/** `clock.Date`, `{ process: … }` and the like only name a field. */
function isLabel({ parent, field }: NodePosition): boolean {
  if (!parent || parent.computed === true) return false
  return field === 'key' || (field === 'property' && parent.type === 'MemberExpression')
}

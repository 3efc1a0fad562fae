import type { SourceFile } from '../support/source-file.ts'
import type { Node, NodePosition } from '../support/syntax-tree.ts'
import { identifierName, isNode, lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'
import { importsIn } from './imports.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

type Ban = { names: readonly string[]; members: Readonly<Record<string, readonly string[]>> }

const nodeModules =
  /^node:(fs|timers|process|child_process|cluster|dgram|dns|net|tls|http|https|http2|os|worker_threads)\b/
const randomFunctions = ['randomUUID', 'randomBytes', 'randomInt', 'getRandomValues']

const kernelBan: Ban = {
  names: ['setTimeout', 'setInterval', 'Date', 'process', 'performance', 'fetch'],
  members: { Math: ['random'], crypto: randomFunctions, AbortSignal: ['timeout'] },
}
const decisionBan: Ban = {
  names: [...kernelBan.names, 'setImmediate', 'queueMicrotask'],
  members: { ...kernelBan.members, Promise: ['race', 'any'] },
}
const bans: Readonly<Record<string, Ban>> = {
  kernel: kernelBan,
  performers: kernelBan,
  requests: decisionBan,
  patterns: decisionBan,
  judgement: decisionBan,
}

// Replay must be deterministic: a clock or random value that is not in the journal sends a resumed run down another branch.
export function ambientStateViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) => {
    const ban = bans[file.path.split('/')[1] ?? '']
    return ban && !isTestFile(file.path) ? [...bannedUses(file, ban), ...bannedImports(file)] : []
  })
}

function bannedImports(file: SourceFile): Violation[] {
  return importsIn(file)
    .filter(({ specifier, kind }) => kind !== 'type' && nodeModules.test(withPrefix(specifier)))
    .map(({ line, specifier }) => toViolation(file.path, line, specifier))
}

function withPrefix(specifier: string): string {
  return specifier.startsWith('node:') || specifier.startsWith('.') ? specifier : `node:${specifier}`
}

function bannedUses(file: SourceFile, ban: Ban): Violation[] {
  const found: Violation[] = []
  walkTree(parseSource(file), (node, position) => {
    const name = bannedName(node, position, ban)
    if (name) found.push(toViolation(file.path, lineNumberAt(file.source, node.start), name))
  })
  return found
}

function toViolation(path: string, line: number, name: string): Violation {
  return { rule: 'ambient-state', path, line, message: `uses ${name}; take it from the context or the World` }
}

function bannedName(node: Node, position: NodePosition, ban: Ban): string | undefined {
  if (node.type === 'MemberExpression') {
    const [object, property] = [identifierName(node.object) ?? '', identifierName(node.property) ?? '']
    if (object === 'globalThis' && ban.names.includes(property)) return `globalThis.${property}`
    if (isBannedMember(ban, object, property)) return `${object}.${property}`
  }
  if (node.type === 'VariableDeclarator' && isNode(node.id) && node.id.type === 'ObjectPattern') {
    const object = identifierName(node.init) ?? ''
    const names = (node.id.properties as Node[]).map((property) => identifierName(property.key) ?? '')
    const banned = names.find((property) => isBannedMember(ban, object, property))
    if (banned) return `${object}.${banned}`
  }
  if (node.type === 'ImportSpecifier' && randomFunctions.includes(identifierName(node.imported) ?? ''))
    return identifierName(node.imported)
  if (node.type !== 'Identifier' || !ban.names.includes(String(node.name)) || isFieldName(position)) return undefined
  return isGivenTime(node, position) ? undefined : String(node.name)
}

/** `new Date(ms)` is allowed: without an argument it reads the clock, with several the time zone. */
function isGivenTime(node: Node, { parent, field }: NodePosition): boolean {
  if (identifierName(node) !== 'Date' || parent?.type !== 'NewExpression' || field !== 'callee') return false
  const args = parent.arguments as Node[]
  return args.length === 1 && args[0]?.type !== 'SpreadElement'
}

function isBannedMember(ban: Ban, object: string, property: string): boolean {
  return Object.hasOwn(ban.members, object) && ban.members[object]?.includes(property) === true
}

/** In `clock.Date` and `{ process: … }` the identifier only names a field. */
function isFieldName({ parent, field }: NodePosition): boolean {
  if (!parent || parent.computed === true) return false
  return field === 'key' || (field === 'property' && parent.type === 'MemberExpression')
}

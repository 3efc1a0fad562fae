import type { Statement } from 'oxc-parser'
import type { Node } from '../support/syntax-tree.ts'
import { identifierName, isNode, parseSource } from '../support/syntax-tree.ts'
import type { PublicName } from './surface.ts'
import { declarations, mentionedTypes } from './surface.ts'

type Read = (path: string) => string

const INTRODUCTION = `# API reference

Every name that a program can import, with its declaration, and the types that these mention. Generated from the source by
\`UPDATE_SURFACE=1 npx vitest run test/public-surface.test.ts\`; do not edit. The [guide](../../README.md#guide) shows how they are used.
`

/** A Markdown page with the declaration of every public name: functions, classes and constants first, then types. */
export function apiReference(entries: readonly { entry: string; names: readonly PublicName[] }[], read: Read): string {
  const sections = entries.map(({ entry, names }) => {
    const values = names.filter(({ kind }) => isValue(kind))
    const types = names.filter(({ kind }) => !isValue(kind))
    return [`## \`${entry.replace(/^\./, 'troupe')}\``, ...[...values, ...types].map((name) => nameSection(name, read))]
  })
  const mentioned = mentionedTypes(
    entries.flatMap(({ names }) => names),
    read,
  )
  const others = ['## Other types\n\nTypes that the declarations above mention. They cannot be imported.']
  return `${[INTRODUCTION, ...sections.flat(), ...others, ...mentioned.map((name) => nameSection(name, read))].join('\n')}\n`
}

function isValue(kind: string): boolean {
  return /^(function|class|const|enum)/.test(kind) && !kind.endsWith('(type only)')
}

function nameSection({ name, kind, path, declared }: PublicName, read: Read): string {
  const source = read(path)
  const statements = parseSource({ path, source }).body.filter((statement) =>
    declarations(statement).some(([candidate]) => candidate === declared),
  )
  // The implementation of an overloaded function is not part of its type.
  const overloads = statements.filter((statement) => declarationOf(statement).type === 'TSDeclareFunction')
  const shown = overloads.length > 0 ? overloads : statements
  const comment = shown.map((statement) => commentBefore(source, statement.start)).find((text) => text !== '')
  const code = shown.map((statement) => declarationText(source, declarationOf(statement))).join('\n')
  return [
    `\n### ${name}\n`,
    ...(comment ? [`${comment}\n`] : []),
    `\`\`\`ts\n${code}\n\`\`\``,
    `${kind}, \`${path}\``,
  ].join('\n')
}

function declarationOf(statement: Statement): Node {
  const declared: unknown = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
  if (!isNode(declared)) throw new Error(`no declaration in a statement of type ${statement.type}`)
  return declared
}

/** The text of the JSDoc comment directly before a position, without its asterisks. */
function commentBefore(source: string, start: number): string {
  const match = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(source.slice(0, start))
  return (match?.[1] ?? '')
    .split('\n')
    .map((line) => line.replace(/^\s*\*? ?/, '').trimEnd())
    .join('\n')
    .trim()
}

/** The declaration without the bodies of functions. */
function declarationText(source: string, node: Node): string {
  if (node.type === 'ClassDeclaration') return classText(source, node)
  if (node.type === 'VariableDeclaration') return source.slice(node.start, node.end)
  return withoutBody(source, node)
}

function withoutBody(source: string, node: Node): string {
  const end = isFunctionBody(node.body) ? node.body.start : node.end
  return source.slice(node.start, end).replaceAll(INTERNAL_MEMBER, '').trim()
}

/** The published types have no such members (`stripInternal`): the comment and the line after it. */
const INTERNAL_MEMBER = /^ *\/\*\* @internal(?:(?!\*\/)[\s\S])*\*\/\n.*\n/gm

function isFunctionBody(body: unknown): body is Node {
  return isNode(body) && (body.type === 'FunctionBody' || body.type === 'BlockStatement')
}

function classText(source: string, node: Node): string {
  const { body } = node
  if (!isNode(body)) return ''
  const members = (body.body as Node[])
    .filter((member) => isPublic(member))
    .map((member) => `  ${memberText(source, member)}`)
  return [`${source.slice(node.start, body.start).trim()} {`, ...members, '}'].join('\n')
}

function isPublic({ key, accessibility }: Node): boolean {
  return (
    !(isNode(key) && key.type === 'PrivateIdentifier') &&
    accessibility !== 'private' &&
    identifierName(key) !== undefined
  )
}

function memberText(source: string, member: Node): string {
  const { value } = member
  if (member.type !== 'MethodDefinition' || !isNode(value) || !isFunctionBody(value.body)) {
    return source.slice(member.start, member.end)
  }
  return source.slice(member.start, value.body.start).trim()
}

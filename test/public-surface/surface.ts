import type { Statement } from 'oxc-parser'
import type { SourceFile } from '../support/source-file.ts'
import type { Node } from '../support/syntax-tree.ts'
import { identifierName, isNode, parseSource } from '../support/syntax-tree.ts'

/** An exported name, and the place of its declaration, where it may have another name. */
export type PublicName = { name: string; kind: string; path: string; declared: string }

/** An export: declared in the file, or re-exported from another file under `original`. */
type Export = { kind: string } | { from: string; original: string; typeOnly: boolean }

/** The names that a program can import from `entry`, with the kind of each declaration, sorted. */
export function publicNames(entry: string, read: (path: string) => string): PublicName[] {
  const exported = exportsIn({ path: entry, source: read(entry) })
  return [...exported.keys()]
    .sort((a, b) => a.localeCompare(b, 'en'))
    .map((name) => ({ name, ...findDeclaration({ path: entry, name }, read) }))
}

/** `./dist/testing/index.js` is built from `src/testing/index.ts`. */
export function entrySources(exportsField: Record<string, unknown>): { entry: string; source: string }[] {
  return Object.entries(exportsField).flatMap(([entry, target]) => {
    const built = typeof target === 'string' ? target : (target as { default?: string }).default
    if (!built?.endsWith('.js')) return []
    return [{ entry, source: built.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts') }]
  })
}

type Declaration = Omit<PublicName, 'name'>

/** The types of this project that these declarations mention, directly or through each other, and that cannot be imported; sorted. */
export function mentionedTypes(names: readonly PublicName[], read: (path: string) => string): PublicName[] {
  const keyOf = ({ path, declared }: Declaration) => `${path} ${declared}`
  const known = new Set(names.map(keyOf))
  const found: PublicName[] = []
  const queue = [...names]
  for (let next = queue.shift(); next; next = queue.shift()) {
    for (const mentioned of typesMentionedBy(next, read)) {
      if (known.has(keyOf(mentioned))) continue
      known.add(keyOf(mentioned))
      found.push(mentioned)
      queue.push(mentioned)
    }
  }
  return found.sort((a, b) => a.name.localeCompare(b.name, 'en') || a.path.localeCompare(b.path, 'en'))
}

function typesMentionedBy({ path, declared }: PublicName, read: (path: string) => string): PublicName[] {
  const { body } = parseSource({ path, source: read(path) })
  const local = kindsByName(body.flatMap(declarations))
  const imported = new Map(body.flatMap(importedNames))
  const shown = body.filter((statement) => declarations(statement).some(([name]) => name === declared))
  return [...new Set(shown.flatMap(referencedTypes))].flatMap((name) => {
    const kind = local.get(name)
    if (kind) return /^(type|interface)/.test(kind) ? [{ name, kind, path, declared: name }] : []
    const source = imported.get(name)
    if (!source || !('from' in source) || !source.from.startsWith('.')) return []
    const origin = decodeURIComponent(new URL(source.from, `file:///${path}`).pathname.slice(1))
    const declaration = findDeclaration({ path: origin, name: source.original }, read)
    return /^(type|interface)/.test(declaration.kind) ? [{ name: declaration.declared, ...declaration }] : []
  })
}

/** The names in type positions of a node, without those in the bodies of functions and in private members. */
function referencedTypes(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(referencedTypes)
  if (!isNode(node) || node.type === 'BlockStatement' || node.type === 'FunctionBody') return []
  if (node.accessibility === 'private' || (isNode(node.key) && node.key.type === 'PrivateIdentifier')) return []
  const own = node.type === 'TSTypeReference' ? identifierName(node.typeName) : undefined
  const base = node.type === 'TSInterfaceHeritage' ? identifierName(node.expression) : undefined
  const name = own ?? base
  return [...(name === undefined ? [] : [name]), ...Object.values(node).flatMap(referencedTypes)]
}

function findDeclaration({ path, name }: { path: string; name: string }, read: (path: string) => string): Declaration {
  const found = exportsIn({ path, source: read(path) }).get(name)
  if (!found) throw new Error(`${path} does not export ${name}`)
  if ('kind' in found) return { kind: found.kind, path, declared: name }
  const base = new URL(`file:///${path}`)
  const origin = decodeURIComponent(new URL(found.from, base).pathname.slice(1))
  const declaration = findDeclaration({ path: origin, name: found.original }, read)
  const isType = /^(type|interface)/.test(declaration.kind)
  if (!found.typeOnly || isType) return declaration
  return { ...declaration, kind: `${declaration.kind.replace(/ \(type only\)$/, '')} (type only)` }
}

function exportsIn(file: SourceFile): Map<string, Export> {
  const { body } = parseSource(file)
  const local = kindsByName(body.flatMap(declarations))
  const imported = new Map(body.flatMap(importedNames))
  const declaredHere = body.filter((statement) => statement.type === 'ExportNamedDeclaration').flatMap(declarations)
  const exported = new Map<string, Export>([...kindsByName(declaredHere)].map(([name, kind]) => [name, { kind }]))
  for (const statement of body) {
    if (statement.type === 'ExportAllDeclaration') throw new Error(`${file.path} exports *; list the names`)
    if (statement.type !== 'ExportNamedDeclaration') continue
    for (const specifier of statement.specifiers) {
      const [original = '', name = ''] = [identifierName(specifier.local), identifierName(specifier.exported)]
      const typeOnly = statement.exportKind === 'type' || specifier.exportKind === 'type'
      const kind = local.get(original)
      if (statement.source) exported.set(name, { from: statement.source.value, original, typeOnly })
      else exported.set(name, kind ? { kind } : (imported.get(original) ?? { kind: 'unknown' }))
    }
  }
  return exported
}

/** A name may be both a value and a type, or a function with several signatures. */
function kindsByName(declared: readonly [name: string, kind: string][]): Map<string, string> {
  const kinds = new Map<string, string>()
  for (const [name, kind] of declared) {
    const known = kinds.get(name)?.split(' and ') ?? []
    kinds.set(name, [...new Set([...known, kind])].join(' and '))
  }
  return kinds
}

function importedNames(statement: Statement): [string, Export][] {
  if (statement.type !== 'ImportDeclaration') return []
  return statement.specifiers.map((specifier) => {
    const typeOnly = statement.importKind === 'type'
    const original = specifier.type === 'ImportSpecifier' ? (identifierName(specifier.imported) ?? '') : 'default'
    return [specifier.local.name, { from: statement.source.value, original, typeOnly }]
  })
}

const kinds: Readonly<Record<string, string>> = {
  FunctionDeclaration: 'function',
  TSDeclareFunction: 'function',
  ClassDeclaration: 'class',
  TSTypeAliasDeclaration: 'type',
  TSInterfaceDeclaration: 'interface',
  TSEnumDeclaration: 'enum',
}

export function declarations(statement: Statement): [name: string, kind: string][] {
  const declared: unknown = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
  if (!isNode(declared)) return []
  if (declared.type === 'VariableDeclaration') {
    return (declared.declarations as Node[]).map(({ id }) => [identifierName(id) ?? '', String(declared.kind)])
  }
  const kind = kinds[declared.type]
  return kind ? [[identifierName(declared.id) ?? '', kind]] : []
}

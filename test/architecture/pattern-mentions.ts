import type { SourceFile } from '../support/source-file.ts'
import type { Node } from '../support/syntax-tree.ts'
import { identifierName, isNode, lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'
import { importsIn } from './imports.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

/*
 * A pattern is one folder and one line of registration: no other file of src imports it or contains its name, an alias or an event type
 * as a string.
 */

/** A file or folder that may mention the pattern of a folder, with the reason. */
export type AllowedMention = { path: string; folder: string; reason: string }

const REGISTRATION = 'src/runtime/built-in-patterns.ts'

export const allowedPatternMentions: readonly AllowedMention[] = [
  { path: 'src/index.ts', folder: 'task', reason: 'public types of its input and output' },
  { path: 'src/index.ts', folder: 'team', reason: 'public types of its events and output' },
  { path: 'src/index.ts', folder: 'collaborate', reason: 'public types of its events, output and settings' },
  { path: 'src/index.ts', folder: 'consult', reason: 'public types of its events, output and settings' },
  ...['build', 'collaborate', 'consult', 'team'].map((folder) => {
    return { path: 'src/runtime/typed-event.ts', folder, reason: 'public types of its events' }
  }),
  { path: 'src/runtime/troupe-options.ts', folder: 'consult', reason: 'the public option with its settings' },
  { path: 'src/index.ts', folder: 'build', reason: 'public types of its events, output and settings' },
  { path: 'src/runtime/troupe-options.ts', folder: 'build', reason: 'the public option with its settings' },
  { path: 'src/runtime/troupe-options.ts', folder: 'task', reason: 'the public option with its settings' },
  { path: 'src/runtime/troupe-options.ts', folder: 'collaborate', reason: 'the public option with its settings' },
  { path: 'src/runtime/troupe-options.ts', folder: 'team', reason: 'the public option with its settings' },
  {
    path: 'src/judgement/team',
    folder: 'team',
    reason: 'the pure decisions of the pattern and the keys of team files',
  },
  { path: 'src/formats/roster-file.ts', folder: 'team', reason: '`team` is a key of team files' },
  { path: 'src/formats/team-tools.ts', folder: 'team', reason: '`team` is a key of team files' },
  { path: 'src/formats/team-tree.ts', folder: 'team', reason: '`team` is a key of team files' },
  {
    path: 'src/formats/tool-aliases.ts',
    folder: 'task',
    reason: 'names that agent files of other products give to tools',
  },
  {
    path: 'src/formats/tool-aliases.ts',
    folder: 'collaborate',
    reason: 'names that agent files of other products give to tools',
  },
  { path: 'src/formats/tool-aliases.ts', folder: 'team', reason: 'names of tools in agent files' },
  { path: 'src/formats/tool-aliases.ts', folder: 'build', reason: 'names of tools in agent files' },
  { path: 'src/formats/tool-aliases.ts', folder: 'consult', reason: 'names of tools in agent files' },
  {
    path: 'src/formats/tool-aliases.ts',
    folder: 'ask-user',
    reason: 'names that agent files of other products give to tools',
  },
  {
    path: 'src/formats/tool-aliases.ts',
    folder: 'plan-mode',
    reason: 'names that agent files of other products give to tools',
  },
  {
    path: 'src/formats/tool-aliases.ts',
    folder: 'artifacts',
    reason: 'names that agent files of other products give to tools',
  },
  {
    path: 'src/surfaces/cli/team-pattern.ts',
    folder: 'team',
    reason: '`run team --team FILE` and `steer` take team files',
  },
  {
    path: 'src/surfaces/cli/commands/build-command.ts',
    folder: 'build',
    reason: 'the command `build` with its options',
  },
  { path: 'src/surfaces/cli/program-commands.ts', folder: 'team', reason: 'the command group `team` for team files' },
  { path: 'src/surfaces/cli/chat', folder: 'team', reason: '`chat` is the surface of this pattern' },
  { path: 'src/surfaces/cli/commands/demo-command.ts', folder: 'task', reason: 'the demo runs it' },
  { path: 'src/surfaces/cli/commands/demo-command.ts', folder: 'collaborate', reason: 'the demo runs it' },
  { path: 'src/surfaces/cli/commands/demo-command.ts', folder: 'team', reason: 'the demo runs it' },
  { path: 'src/surfaces/cli/commands/demo-command.ts', folder: 'build', reason: 'the demo runs it' },
  { path: 'src/surfaces/cli/demo/scripted-turns.ts', folder: 'task', reason: 'the demo runs it' },
  { path: 'src/surfaces/cli/demo/store-demo.ts', folder: 'task', reason: 'the demo runs it' },
  { path: 'src/surfaces/cli/demo/consult-demo.ts', folder: 'consult', reason: 'the demo runs it' },
  { path: 'src/surfaces/cli/model-checks.ts', folder: 'task', reason: '`doctor` runs it to reach a model' },
  {
    path: 'src/patterns/team/group-turn.ts',
    folder: 'collaborate',
    reason: 'a consensus group is a collaboration, run by name through the context',
  },
  { path: 'src/kernel/short-text.ts', folder: 'task', reason: '`task` is an input field that gives a run its title' },
  {
    path: 'src/tools/tasks/task-list.ts',
    folder: 'task',
    reason: 'an entry of a to-do list: another meaning of the word',
  },
]

export function patternMentionViolations(
  files: readonly SourceFile[],
  allowed: readonly AllowedMention[] = [],
): Violation[] {
  const production = files.filter(({ path }) => !isTestFile(path) && !path.startsWith('src/testing/'))
  const patterns = definedPatterns(production)
  const isAllowed = (mention: Mention) => allowed.some((entry) => covers(entry, mention))
  const mentions = production
    .filter(({ path }) => path !== REGISTRATION)
    .flatMap((file) => patterns.flatMap((pattern) => mentionsIn(file, pattern)))
  const stale = allowed.filter((entry) => !mentions.some((mention) => covers(entry, mention)))
  return [
    ...registrationViolations(production, patterns),
    ...mentions
      .filter((mention) => !isAllowed(mention))
      .map(({ path, line, folder, what }) => ({
        rule: 'pattern-mention',
        path,
        line,
        message: `mentions the pattern in patterns/${folder}: ${what}`,
      })),
    ...stale.map(({ path, folder }) => ({
      rule: 'pattern-mention',
      path: 'test/architecture/pattern-mentions.ts',
      line: 1,
      message: `${path} no longer mentions patterns/${folder}; remove it from the list`,
    })),
  ]
}

type Mention = { path: string; line: number; folder: string; what: string }
type DefinedPattern = { folder: string; names: ReadonlySet<string>; events: ReadonlySet<string> }

function covers(entry: AllowedMention, { path, folder }: Mention): boolean {
  return entry.folder === folder && (path === entry.path || path.startsWith(`${entry.path}/`))
}

/** A pattern whose name is not found in its folder would be mentioned anywhere without being reported. */
function registrationViolations(files: readonly SourceFile[], patterns: readonly DefinedPattern[]): Violation[] {
  const registration = files.find(({ path }) => path === REGISTRATION)
  if (!registration) return []
  const problem = (message: string, line = 1) => ({ rule: 'pattern-mention', path: REGISTRATION, line, message })
  const registered = registeredPatterns(registration)
  if (registered.length === 0) return [problem('registers no pattern in BUILT_IN_PATTERNS')]
  return registered
    .filter(({ name, folder }) => !patterns.some((pattern) => pattern.folder === folder && pattern.names.has(name)))
    .map(({ name, folder, line }) =>
      problem(`registers '${name}', but no definePattern in patterns/${folder} has this name`, line),
    )
}

/** The keys of `BUILT_IN_PATTERNS`, each with the folder that it imports. */
function registeredPatterns(file: SourceFile): { name: string; folder: string; line: number }[] {
  const entries = objectsByName(file).get('BUILT_IN_PATTERNS') ?? []
  return entries.map(({ key, start, end }) => ({
    name: identifierName(key) ?? '',
    folder: /\/patterns\/([^/]+)\//.exec(file.source.slice(start, end))?.[1] ?? '',
    line: lineNumberAt(file.source, start),
  }))
}

/** The patterns of each folder, with the names, aliases and event types that its files declare. */
function definedPatterns(files: readonly SourceFile[]): DefinedPattern[] {
  const byFolder = new Map<string, { names: Set<string>; events: Set<string> }>()
  for (const file of files) {
    const [, folder] = /^src\/patterns\/([^/]+)\//.exec(file.path) ?? []
    if (folder === undefined) continue
    const found = byFolder.get(folder) ?? { names: new Set(), events: new Set() }
    byFolder.set(folder, found)
    const objects = objectsByName(file)
    walkTree(parseSource(file), (node) => {
      if (node.type === 'CallExpression' && identifierName(node.callee) === 'definePattern')
        for (const name of declaredNames((node.arguments as Node[])[0], objects)) found.names.add(name)
      const key = node.type === 'Property' ? identifierName(node.key) : undefined
      if (key !== undefined && file.path.endsWith('/events.ts') && /^[a-z][\w-]*(:[\w-]+)+$/.test(key))
        found.events.add(key)
    })
  }
  return [...byFolder].map(([folder, found]) => ({ folder, ...found }))
}

/** The properties of the objects that variables of a file are declared with. */
function objectsByName(file: SourceFile): Map<string, Node[]> {
  const objects = new Map<string, Node[]>()
  walkTree(parseSource(file), (node) => {
    const name = node.type === 'VariableDeclarator' ? identifierName(node.id) : undefined
    const value = withoutTypes(node.init)
    if (name !== undefined && isNode(value) && value.type === 'ObjectExpression')
      objects.set(name, value.properties as Node[])
  })
  return objects
}

/** `name` and `aliases` of a definition, and of the objects that it spreads. */
function declaredNames(definition: Node | undefined, objects: ReadonlyMap<string, Node[]>): string[] {
  const properties = (definition?.properties as Node[] | undefined) ?? []
  const all = properties.flatMap((property) =>
    property.type === 'SpreadElement' ? (objects.get(identifierName(property.argument) ?? '') ?? []) : property,
  )
  return all.flatMap((property) => {
    const field = identifierName(property.key)
    const value = withoutTypes(property.value)
    if (field === 'name') return identifierName(value) ?? []
    if (field !== 'aliases' || !isNode(value)) return []
    return ((value.elements as Node[] | undefined) ?? []).flatMap((element) => identifierName(element) ?? [])
  })
}

/** `x` in `x as const` and `x satisfies T`. */
function withoutTypes(value: unknown): unknown {
  const isTyped = isNode(value) && (value.type === 'TSAsExpression' || value.type === 'TSSatisfiesExpression')
  return isTyped ? withoutTypes(value.expression) : value
}

function mentionsIn(file: SourceFile, { folder, names, events }: DefinedPattern): Mention[] {
  if (file.path.startsWith(`src/patterns/${folder}/`)) return []
  const found: Mention[] = importsIn(file)
    .filter(({ target }) => target?.startsWith(`src/patterns/${folder}/`))
    .map(({ line, target }) => ({ path: file.path, line, folder, what: `imports ${target}` }))
  walkTree(parseSource(file), (node) => {
    const text = node.type === 'Literal' ? node.value : node.type === 'TemplateElement' ? templateText(node) : undefined
    if (typeof text !== 'string' || !(names.has(text) || events.has(text))) return
    found.push({ path: file.path, line: lineNumberAt(file.source, node.start), folder, what: `'${text}'` })
  })
  return found
}

function templateText({ value }: Node): unknown {
  return (value as { cooked?: unknown } | undefined)?.cooked
}

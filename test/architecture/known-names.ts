import type { SourceFile } from '../support/source-file.ts'
import type { Node } from '../support/syntax-tree.ts'
import { identifierName, isNode, parseSource, walkTree } from '../support/syntax-tree.ts'
import { isTestFile } from './violation.ts'

/** What a user can write: options and fields, command-line flags, commands, and environment variables. */
export type KnownNames = {
  fields: ReadonlySet<string>
  flags: ReadonlySet<string>
  commands: ReadonlySet<string>
  variables: ReadonlySet<string>
}

/** Collects the names from interfaces, schemas and the definition of the command line. */
export function knownNames(files: readonly SourceFile[]): KnownNames {
  const [fields, flags, commands, variables] = [
    new Set<string>(),
    new Set<string>(),
    new Set<string>(),
    new Set<string>(),
  ]
  for (const file of files.filter(({ path }) => !isTestFile(path))) {
    walkTree(parseSource(file), (node) => {
      for (const name of declaredFields(node)) fields.add(name)
      for (const name of declaredFlags(node)) flags.add(name)
      for (const name of declaredCommands(node)) commands.add(name)
      for (const name of mentionedVariables(node)) variables.add(name)
    })
  }
  for (const field of fields) flags.add(`--${field.replaceAll('_', '-')}`)
  return { fields, flags, commands, variables }
}

/** `TROUPE_MODEL` in a text, or after `env.`: a constant of the code is not a variable of the environment. */
function mentionedVariables(node: Node): string[] {
  const isEnv =
    node.type === 'MemberExpression' &&
    isNode(node.object) &&
    /env$/i.test(identifierName(node.object.property ?? node.object) ?? '')
  const text = isEnv ? identifierName(node.property) : node.type === 'Literal' ? identifierName(node) : undefined
  return text?.match(/\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b/g) ?? []
}

/** Members of interfaces and type literals, and the keys of `z.object({ … })`. */
function declaredFields(node: Node): string[] {
  if (node.type === 'TSPropertySignature' || node.type === 'TSMethodSignature') return namesOf([node])
  if (node.type !== 'CallExpression' || !isNode(node.callee)) return []
  if (!/^(strictObject|looseObject|object|extend|safeExtend)$/.test(identifierName(node.callee.property) ?? ''))
    return []
  return (node.arguments as Node[])
    .filter((argument) => argument.type === 'ObjectExpression')
    .flatMap((argument) => namesOf(argument.properties as Node[]))
}

function namesOf(members: readonly Node[]): string[] {
  return members.flatMap(({ key }) => identifierName(key) ?? [])
}

/** `.option('-n, --number <count>')`, `.requiredOption(…)` and `new Option(…)`. */
function declaredFlags(node: Node): string[] {
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return []
  const callee = isNode(node.callee) ? (identifierName(node.callee.property) ?? identifierName(node.callee)) : undefined
  if (!/^(option|requiredOption|helpOption|Option)$/.test(callee ?? '')) return []
  return identifierName((node.arguments as Node[])[0])?.match(/--[\w-]+/g) ?? []
}

/** `add('show', …)`, `program.command('run [PATTERN]')`, and the keys of `const SLASH_COMMANDS = { … }`. */
function declaredCommands(node: Node): string[] {
  if (node.type === 'VariableDeclarator' && identifierName(node.id) === 'SLASH_COMMANDS' && isNode(node.init))
    return namesOf((node.init.properties ?? []) as Node[]).map((name) => `/${name}`)
  if (node.type !== 'CallExpression' || !isNode(node.callee)) return []
  const [first] = node.arguments as Node[]
  const isAdd = identifierName(node.callee) === 'add'
  const isCommand = identifierName(node.callee.property) === 'command'
  const name = isAdd || isCommand ? identifierName(first) : undefined
  return /^[a-z]+/.exec(name ?? '') ?? []
}

import type { SourceFile } from '../support/source-file.ts'
import type { Node } from '../support/syntax-tree.ts'
import { identifierName, isNode, lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'
import { ruleId } from './rules.ts'

/** `proves` is false for a title under `.skip` or `.todo`: nothing runs there. */
export type Citation = { id: string; title: string; path: string; line: number; proves: boolean }

/** The rule ids that begin the titles of `test(…)` and `it(…)`, in test files and in contract suites alike. */
export function citationsIn(file: SourceFile): Citation[] {
  const found: Citation[] = []
  walkTree(parseSource(file), (node) => {
    if (node.type !== 'CallExpression') return
    const [first, ...rest] = node.arguments as Node[]
    const chain = calledNames(node.callee)
    const title = titleOf(first)
    if (title === undefined || !isTest(chain, rest.length)) return
    const proves = !chain.some((name) => name === 'skip' || name === 'todo')
    const line = lineNumberAt(file.source, node.start)
    for (const id of leadingIds(title)) found.push({ id, title, path: file.path, line, proves })
  })
  return found
}

export function leadingIds(title: string): string[] {
  const words = title.split(/\s+/).map((word) => word.replace(/[,:;.]$/, ''))
  const end = words.findIndex((word) => !ruleId.test(word))
  return words.slice(0, end === -1 ? words.length : end)
}

/** `test.each(table)` is called as ['test', 'each'], `runner.it` as ['runner', 'it']. */
function calledNames(callee: unknown): string[] {
  if (!isNode(callee)) return []
  if (callee.type === 'MemberExpression') return [...calledNames(callee.object), identifierName(callee.property) ?? '']
  if (callee.type === 'CallExpression') return calledNames(callee.callee)
  if (callee.type === 'TaggedTemplateExpression') return calledNames(callee.tag)
  return [identifierName(callee) ?? '']
}

// `pattern.test('J1')` asks a regular expression; a test of a runner always brings a body.
function isTest(chain: readonly string[], argumentsAfterTitle: number): boolean {
  const at = chain.findIndex((name) => name === 'test' || name === 'it')
  return at === 0 || (at > 0 && argumentsAfterTitle > 0)
}

function titleOf(node: Node | undefined): string | undefined {
  if (node?.type !== 'TemplateLiteral') return node?.type === 'Literal' ? identifierName(node) : undefined
  const [head] = node.quasis as { value: { cooked: string } }[]
  return head?.value.cooked
}

import type { SourceFile } from '../support/source-file.ts'
import type { Node } from '../support/syntax-tree.ts'
import { commentsIn, lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

/**
 * Places that need a reason: `x as unknown as T` switches the type checker off, and needs a comment in its line or above it; an empty `catch`
 * ignores every error, and says inside what may fail and why that is fine.
 */
export function unexplainedViolations(files: readonly SourceFile[]): Violation[] {
  return files.filter((file) => !isTestFile(file.path)).flatMap(unexplainedIn)
}

function unexplainedIn(file: SourceFile): Violation[] {
  const comments = commentsIn(file).filter(({ value }) => /[a-z]/i.test(value))
  const lineOf = (offset: number) => lineNumberAt(file.source, offset)
  const found: Violation[] = []
  const report = (rule: string, { start }: Node, message: string) =>
    found.push({ rule, path: file.path, line: lineOf(start), message })
  walkTree(parseSource(file), (node) => {
    if (isDoubleAssertion(node)) {
      const [first, last] = [lineOf(node.start) - 1, lineOf(node.end)]
      if (!comments.some(({ end }) => lineOf(end) >= first && lineOf(end) <= last))
        report('double-assertion', node, 'asserts a type twice; find the type that holds, or write the reason above it')
    }
    if (node.type === 'CatchClause' && (node.body as { body: unknown[] }).body.length === 0) {
      if (!comments.some(({ start, end }) => start > node.start && end < node.end))
        report('empty-catch', node, 'ignores an error; write inside what may fail, and why that is fine')
    }
  })
  return found
}

function isDoubleAssertion({ type, expression }: Node): boolean {
  return type === 'TSAsExpression' && (expression as Node).type === 'TSAsExpression'
}

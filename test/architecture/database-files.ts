import type { SourceFile } from '../support/source-file.ts'
import { identifierName, isNode, lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

/** Files of the store that open a file for writing which does not belong to a database in use, each with that file. */
export const allowedDatabaseWriters: Readonly<Record<string, string>> = {
  'src/store/sqlite/backup.ts': 'a finished copy, to sync it',
  'src/store/sqlite/file-checks/commit-mark.ts': 'the mark beside the database',
  'src/store/sqlite/read-only-copy.ts': 'copies in a temporary folder',
  'src/surfaces/cli/commands/trust-command.ts': 'puts a store aside that no process has open',
}

const NAMES_DATABASE_FILE = /-(wal|shm|journal)\b|\.(db|sqlite)\b/
const OPENS_FILE = /^(open(Sync)?|createWriteStream)$/
const WRITES_FILE = /^(writeFile|appendFile|truncate|copyFile|cp|rename|rm|unlink)(Sync)?$/
/** To read, or to create a file that does not exist. */
const HARMLESS_FLAGS = /^'(r|wx)'$|^(?!.*O_(RDWR|WRONLY)).*\bO_RDONLY\b/s

// Corruption: SQLite relies on its locks and on what it wrote last, and knows nothing of a second writer.
export function databaseFileViolations(
  files: readonly SourceFile[],
  allowed: Readonly<Record<string, string>>,
): Violation[] {
  return files
    .filter(({ path, source }) => path.startsWith('src/store/') || NAMES_DATABASE_FILE.test(source))
    .filter(({ path }) => !isTestFile(path) && !path.startsWith('src/testing/'))
    .flatMap((file) => {
      const found = openingsForWriting(file)
      if (!Object.hasOwn(allowed, file.path)) return found
      return found.length > 0 ? [] : [toViolation(file.path, 1, 'writes no file and needs no exception any more')]
    })
}

function openingsForWriting(file: SourceFile): Violation[] {
  const found: Violation[] = []
  const imported = new Map<string, string>()
  const constants = new Map<string, string>()
  const textOf = (node: unknown) => (isNode(node) ? file.source.slice(node.start, node.end) : '')
  walkTree(parseSource(file), (node) => {
    const line = lineNumberAt(file.source, node.start)
    if (node.type === 'VariableDeclarator') constants.set(textOf(node.id), textOf(node.init))
    if (node.type === 'ImportDeclaration' && /^node:fs\b/.test(identifierName(node.source) ?? '')) {
      for (const specifier of node.specifiers as unknown[]) {
        if (!isNode(specifier)) continue
        imported.set(textOf(specifier.local), identifierName(specifier.imported) ?? '')
        const isAll = specifier.type !== 'ImportSpecifier' || identifierName(specifier.imported) === 'promises'
        if (isAll) found.push(toViolation(file.path, line, 'imports all of node:fs'))
      }
    }
    if (node.type === 'ImportExpression' && /^node:fs\b/.test(identifierName(node.source) ?? ''))
      found.push(toViolation(file.path, line, 'imports all of node:fs'))
    if (node.type !== 'CallExpression') return
    const name = imported.get(textOf(node.callee)) ?? ''
    const [, second = '', ...rest] = (node.arguments as unknown[]).map(textOf)
    const isHarmless = OPENS_FILE.test(name)
      ? HARMLESS_FLAGS.test(constants.get(second) ?? second)
      : !WRITES_FILE.test(name) || rest.some((text) => text.includes("flag: 'wx'"))
    if (!isHarmless) found.push(toViolation(file.path, line, `calls ${name} with a file that exists`))
  })
  return found
}

function toViolation(path: string, line: number, problem: string): Violation {
  const message = `${problem}; files of SQLite are written by SQLite only (allowedDatabaseWriters)`
  return { rule: 'database-file', path, line, message }
}

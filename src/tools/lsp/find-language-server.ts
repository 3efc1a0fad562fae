import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Workspace } from '../files/workspace.ts'
import { trustedPath } from '../sandbox/trusted-path.ts'
import { findProgram } from '../search/ripgrep.ts'
import { readSmallFile } from '../search/walk-files.ts'
import { operatorError } from '../tool-errors.ts'

/** A language server as a program with its arguments. */
export type LanguageServerCommand = readonly [program: string, ...args: string[]]

/**
 * The server for TypeScript and JavaScript: the compiler of the workspace if it has one built in (from version 7), the
 * separate server of the workspace, or one that is installed on the machine.
 */
export function findTypescriptServer(workspace: Workspace): LanguageServerCommand {
  const modules = join(workspace.realPath, 'node_modules')
  const compiler = join(modules, 'typescript', 'bin', 'tsc')
  if (existsSync(compiler) && majorVersion(join(modules, 'typescript', 'package.json')) >= 7) {
    return [process.execPath, compiler, '--lsp', '--stdio']
  }
  const own = join(modules, 'typescript-language-server', 'lib', 'cli.mjs')
  if (existsSync(own)) return [process.execPath, own, '--stdio']
  const installed = findProgram('typescript-language-server', trustedPath([workspace.realPath]))
  if (installed !== undefined) return [installed, '--stdio']
  throw operatorError(
    'there is no language server for TypeScript in this workspace',
    'install typescript 7 or typescript-language-server in it, or give lsp: [program, ...arguments]',
  )
}

/** What a command left there may be no file: a pipe would be waited for, a device read without end. */
function majorVersion(manifest: string): number {
  try {
    const { version } = JSON.parse(readSmallFile(manifest) ?? '{}') as { version?: unknown }
    return Number.parseInt(String(version ?? '0'), 10)
  } catch {
    return 0
  }
}

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
 * Finds the TypeScript language server: `typescript` 7 or later in the workspace (`tsc --lsp`), then
 * `typescript-language-server` in the workspace, then the one on a trusted `PATH`.
 */
export function findTypescriptServer(workspace: Workspace): LanguageServerCommand {
  const modules = join(workspace.realPath, 'node_modules')
  const compiler = join(modules, 'typescript', 'bin', 'tsc')
  if (existsSync(compiler) && majorVersion(join(modules, 'typescript', 'package.json')) >= 7) {
    return [process.execPath, compiler, '--lsp', '--stdio']
  }
  const serverScript = join(modules, 'typescript-language-server', 'lib', 'cli.mjs')
  if (existsSync(serverScript)) return [process.execPath, serverScript, '--stdio']
  const installed = findProgram('typescript-language-server', trustedPath([workspace.realPath]))
  if (installed !== undefined) return [installed, '--stdio']
  throw operatorError(
    'no TypeScript language server is installed',
    'install typescript 7 or typescript-language-server in the workspace, or set `lsp: [program, ...args]`',
  )
}

/** Denial of service: a command may have replaced the manifest by a pipe or a device, hence `readSmallFile`. */
function majorVersion(manifest: string): number {
  try {
    const { version } = JSON.parse(readSmallFile(manifest) ?? '{}') as { version?: unknown }
    return Number.parseInt(String(version ?? '0'), 10)
  } catch {
    return 0
  }
}

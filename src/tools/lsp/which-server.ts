import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { unable } from '../complaint.ts'
import type { Workspace } from '../files/workspace.ts'
import { trustedPath } from '../sandbox/trusted-path.ts'
import { findProgram } from '../search/ripgrep.ts'
import { readSmall } from '../search/walk.ts'

/** A language server as a program with its arguments. */
export type ServerCommand = readonly [program: string, ...args: string[]]

/**
 * The server for TypeScript and JavaScript: the compiler of the workspace if it has one built in (from version 7), the
 * separate server of the workspace, or one that is installed on the machine.
 */
export function typescriptServer(workspace: Workspace): ServerCommand {
  const modules = join(workspace.real, 'node_modules')
  const compiler = join(modules, 'typescript', 'bin', 'tsc')
  if (existsSync(compiler) && majorOf(join(modules, 'typescript', 'package.json')) >= 7) {
    return [process.execPath, compiler, '--lsp', '--stdio']
  }
  const own = join(modules, 'typescript-language-server', 'lib', 'cli.mjs')
  if (existsSync(own)) return [process.execPath, own, '--stdio']
  const installed = findProgram('typescript-language-server', trustedPath([workspace.real]))
  if (installed !== undefined) return [installed, '--stdio']
  throw unable(
    'there is no language server for TypeScript in this workspace',
    'install typescript 7 or typescript-language-server in it, or give lsp: [program, ...arguments]',
  )
}

/** What a command left there may be no file: a pipe would be waited for, a device read without end. */
function majorOf(manifest: string): number {
  try {
    const { version } = JSON.parse(readSmall(manifest) ?? '{}') as { version?: unknown }
    return Number.parseInt(String(version ?? '0'), 10)
  } catch {
    return 0
  }
}

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TroupeError } from '../../errors.ts'
import { parseJson } from '../../schema/json-value.ts'
import { readSmallFile } from '../files/file-content.ts'
import type { Workspace } from '../files/workspace.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { trustedPath } from '../sandbox/trusted-path.ts'
import { findProgram } from '../search/ripgrep.ts'
import { operatorError } from '../tool-errors.ts'

/** A language server as a program with its arguments. */
export type LanguageServerCommand = readonly [program: string, ...args: string[]]

/**
 * Finds the TypeScript language server: `typescript` 7 or later in the workspace (`tsc --lsp`), then
 * `typescript-language-server` in the workspace, then the one on a trusted `PATH`.
 */
export function findTypescriptServer(workspace: Workspace): LanguageServerCommand {
  const found = workspaceServer(workspace) ?? installedServer(workspace)
  if (found) return found
  throw operatorError(NO_SERVER, INSTALL_HINT)
}

const NO_SERVER = 'no TypeScript language server is installed'
const INSTALL_HINT =
  'install typescript 7 or typescript-language-server in the workspace, or set `lsp: [program, ...args]`'

/**
 * Language servers execute code of the workspace (its TypeScript, plugins of its `tsconfig.json`), even one found on `PATH`: without
 * the sandbox only one that the operator names is started.
 */
const NO_SANDBOX = 'a language server executes code of the workspace, and there is no sandbox'
const NO_SANDBOX_HINT = 'set `lsp: [program, ...args]` to start one anyway'

export function noSandboxError(): TroupeError {
  return operatorError(NO_SANDBOX, NO_SANDBOX_HINT)
}

/**
 * Why a workspace has no use for the language server: there is no sandbox, none is installed, or the one on `PATH` is for a project of
 * another kind. Every session asks, hence `PATH` is searched once.
 */
export function createServerCheck(workspace: Workspace, sandbox: Sandbox): () => string | undefined {
  let onPath: boolean | undefined
  return () => {
    if (sandbox.kind === 'none') return `${NO_SANDBOX}; the operator can ${NO_SANDBOX_HINT}`
    if (workspaceServer(workspace)) return undefined
    onPath ??= installedServer(workspace) !== undefined
    if (!onPath) return `${NO_SERVER}; the operator can ${INSTALL_HINT}`
    const isProject = PROJECT_FILES.some((name) => existsSync(join(workspace.realPath, name)))
    return isProject ? undefined : `the workspace has none of ${PROJECT_FILES.join(', ')}`
  }
}

const PROJECT_FILES = ['tsconfig.json', 'jsconfig.json', 'package.json']

function workspaceServer(workspace: Workspace): LanguageServerCommand | undefined {
  const modules = join(workspace.realPath, 'node_modules')
  const compiler = join(modules, 'typescript', 'bin', 'tsc')
  if (existsSync(compiler) && majorVersion(join(modules, 'typescript', 'package.json')) >= 7) {
    return [process.execPath, compiler, '--lsp', '--stdio']
  }
  const serverScript = join(modules, 'typescript-language-server', 'lib', 'cli.mjs')
  return existsSync(serverScript) ? [process.execPath, serverScript, '--stdio'] : undefined
}

function installedServer(workspace: Workspace): LanguageServerCommand | undefined {
  const installed = findProgram('typescript-language-server', trustedPath([workspace.realPath]))
  return installed === undefined ? undefined : [installed, '--stdio']
}

/** Denial of service: a command may have replaced the manifest by a pipe or a device, hence `readSmallFile`. */
function majorVersion(manifest: string): number {
  const { version } = (parseJson(readSmallFile(manifest) ?? '') ?? {}) as { version?: unknown }
  return Number.parseInt(String(version ?? '0'), 10)
}

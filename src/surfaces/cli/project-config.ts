import { existsSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { TroupeError } from '../../errors.ts'
import type { ConfigFile } from '../../formats/config-file.ts'
import type { FileHashes, TrustChanges } from '../../formats/folder-trust.ts'
import { userConfigFolder } from '../../formats/user-home.ts'
import type { LoadedConfig } from '../../index.ts'
import type { CommandConfig } from './cli.ts'
import type { Terminal } from './terminal.ts'
import { noteWrapped } from './terminal.ts'

/*
 * The configuration of a command: that of the user, overridden by that of the project. A project may be a stranger's: its configuration and
 * its agent files are used only when the operator trusts them with this content.
 */

/** How a command uses the configuration: `execute` needs it, `read` can do without, `help` and `doctor` do not even ask. */
export type ConfigUse = 'execute' | 'read' | 'help' | 'doctor'

export interface ConfigRequest {
  use: ConfigUse
  /** Trusts the project for this command. */
  trustProject: boolean
  quiet: boolean
  /** How to do a part of the command without the configuration; a sentence. */
  withoutConfig?: string
}

/** The configuration of the current folder. Asks on a terminal if the project is not trusted with its content. */
export async function loadCommandConfig(terminal: Terminal, request: ConfigRequest): Promise<CommandConfig> {
  const { userFile, projectFile: found } = await findConfigFiles()
  const projectFile = found && (await isUsable(terminal, found, request)) ? found : undefined
  const refusedFolder = projectFile ? undefined : found?.folder
  if (!userFile && !projectFile) return { refusedFolder }
  const { loadConfig } = await import('../../index.ts')
  // The paths of the user's file start at its folder, but the project is where the command runs.
  const user = userFile && { ...(await loadConfig(userFile.path)), folder: refusedFolder ?? process.cwd() }
  const userStore = user && namedStore(user)
  if (!projectFile) return { config: user, userStore, refusedFolder }
  const loaded = await loadConfig(projectFile.path, user)
  if (!request.trustProject) {
    const { checkTrustedAgents } = await import('../../formats/config-trust.ts')
    const ofUser = user?.options.agents ?? []
    await checkTrustedAgents(
      projectFile,
      loaded.options.agents?.filter((agent) => !ofUser.includes(agent)),
    )
  }
  return { config: loaded, userStore }
}

/** A relative path names no store. */
function namedStore({ options: { store }, hasRelativeStore }: LoadedConfig): string | undefined {
  return typeof store === 'string' && !hasRelativeStore ? store : undefined
}

/** The configuration files of the user and of the current folder, trusted or not. */
export async function findConfigFiles(): Promise<{
  userFile: ConfigFile | undefined
  projectFile: ConfigFile | undefined
}> {
  const { configFileIn, findProjectConfig } = await import('../../formats/config-file.ts')
  const userFile = await configFileIn(userConfigFolder(), 'config')
  return { userFile, projectFile: await findProjectConfig(process.cwd()) }
}

async function isUsable(terminal: Terminal, file: ConfigFile, request: ConfigRequest): Promise<boolean> {
  if (request.trustProject) return true
  const { changes } = await readTrust(file.folder, file)
  if (!changes) return true
  if (request.use === 'help' || request.use === 'doctor') return false
  const executes = request.use === 'execute'
  if (executes) await checkTrustRecord(changes)
  // Fails closed: a file that was trusted may have had deny rules, and without a terminal nobody has agreed to go on without it.
  const stops = executes && (changes.wasTrusted || !terminal.interactive)
  if (terminal.interactive && (await askUntilSettled(terminal, { folder: file.folder, config: file, stops })))
    return true
  if (stops) throw untrustedError(file, changes, request)
  const hint = terminal.interactive ? '' : ` ${TRUST_HINT}`
  if (!request.quiet || terminal.interactive)
    noteWrapped(terminal, `${untrustedReason(file, changes)}; it is not used here.${hint}`)
  return false
}

/** The hashes of the files that trust is about, and how they differ from the trusted ones; `undefined` if they do not. */
async function readTrust(
  folder: string,
  config: ConfigFile | undefined,
): Promise<{ files: FileHashes; changes: TrustChanges | undefined }> {
  const { existingAgentFolders } = await import('../../formats/find-agents.ts')
  if (!config && (await existingAgentFolders({ project: folder })).length === 0)
    return { files: {}, changes: undefined }
  const { findTrustChanges, trustRecordPath } = await import('../../formats/folder-trust.ts')
  const { hashProjectFiles } = await import('../../formats/project-trust.ts')
  const files = await hashProjectFiles(folder, config)
  // Fails closed: a configuration that cannot be hashed, such as a folder of that name, differs from each that the operator has read.
  const compared = config ? { [basename(config.path)]: '', ...files } : files
  if (Object.keys(compared).length === 0) return { files, changes: undefined }
  return { files, changes: await findTrustChanges(trustRecordPath(), folder, compared) }
}

/** Fails closed: what the record trusted, and so which rules would be left out, is not known. */
async function checkTrustRecord({ recordProblem }: TrustChanges): Promise<void> {
  if (recordProblem === undefined) return
  const { trustRecordPath, unusableRecordError } = await import('../../formats/folder-trust.ts')
  throw unusableRecordError(trustRecordPath(), recordProblem)
}

/** The reason why the operator has to be asked about a configuration; `undefined` if it is trusted. */
export async function findUntrustedReason(file: ConfigFile): Promise<string | undefined> {
  const { changes } = await readTrust(file.folder, file)
  return changes && untrustedReason(file, changes)
}

/** True if the agent files of a project may be used. On a terminal, `ask` asks the operator. */
export async function isAgentFolderTrusted(terminal: Terminal, folder: string, ask: boolean): Promise<boolean> {
  const { configFileIn, PROJECT_CONFIG } = await import('../../formats/config-file.ts')
  const config = await configFileIn(folder, PROJECT_CONFIG)
  const { changes } = await readTrust(folder, config)
  if (!changes) return true
  if (!ask) return false
  await checkTrustRecord(changes)
  return terminal.interactive && askUntilSettled(terminal, { folder, config, stops: false })
}

interface TrustSubject {
  folder: string
  config: ConfigFile | undefined
  /** After a no, nothing is executed. */
  stops: boolean
}

/** Prevents TOCTOU: files that changed while the question was open are asked about again. */
async function askUntilSettled(terminal: Terminal, { folder, config, stops }: TrustSubject): Promise<boolean> {
  const { askForTrust } = await import('./trust-question.ts')
  const foreignStore = await findForeignStore(folder)
  for (let shown = await readTrust(folder, config); shown.changes; ) {
    const { files, changes } = shown
    if (!(await askForTrust(terminal, { folder, files, changes, foreignStore, stops }))) return false
    const now = await readTrust(folder, config)
    if (isDeepStrictEqual(now.files, shown.files)) {
      await recordProjectTrust(terminal, folder, shown.files)
      return true
    }
    terminal.note('The files have changed while you were asked.')
    shown = now
  }
  return true
}

/** The store of a folder, if this installation has not created it: it came with a repository, or was copied. */
async function findForeignStore(folder: string): Promise<string | undefined> {
  const { isOwnStore } = await import('../../formats/store-record.ts')
  const path = join('.troupe', 'troupe.db')
  const file = join(folder, path)
  return existsSync(file) && !isOwnStore(file) ? path : undefined
}

/** Records that the operator trusts the project. A home folder that cannot be written only means to be asked again. */
export async function recordProjectTrust(terminal: Terminal, folder: string, files: FileHashes): Promise<void> {
  const { recordTrust, trustRecordPath } = await import('../../formats/folder-trust.ts')
  const record = trustRecordPath()
  await recordTrust(record, folder, files).catch((thrown: Error) =>
    noteWrapped(terminal, `${record} cannot be written, so that the next command asks again: ${thrown.message}`),
  )
}

const TRUST_HINT = 'Read it, then run the command on a terminal, which asks; or pass --trust-project.'

function untrustedReason(file: ConfigFile, changes: TrustChanges): string {
  const { wasTrusted, added, changed, removed, recordProblem } = changes
  const path = relative(process.cwd(), file.path)
  if (recordProblem !== undefined)
    return `${path} is not trusted: the record of trusted projects is not used, because ${recordProblem}`
  if (!wasTrusted) return `${path} is not trusted`
  return `${path} is no longer trusted: changed since are ${[...changed, ...added, ...removed].join(', ')}`
}

function untrustedError(file: ConfigFile, changes: TrustChanges, { withoutConfig = '' }: ConfigRequest): TroupeError {
  return new TroupeError('invalid_input', untrustedReason(file, changes), {
    hint: `it can run code, start servers and grant permissions. ${TRUST_HINT} ${withoutConfig}`.trim(),
    responsible: 'operator',
  })
}

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConfigFile } from './config-file.ts'
import { configFileIn, PROJECT_CONFIG } from './config-file.ts'
import { hashConfigFiles, trustedAgentPaths } from './config-trust.ts'
import { listFilesBelow } from './file-tree.ts'
import { PROJECT_AGENT_FOLDERS } from './find-agents.ts'
import type { FileHashes } from './folder-trust.ts'
import { findTrustChanges, hashFiles, trustRecordPath } from './folder-trust.ts'

/** The files of a project that decide what its agents may do: the configuration with what it names, and the agent files. */
export async function hashProjectFiles(folder: string, config: ConfigFile | undefined): Promise<FileHashes> {
  const ofConfig = config ? await hashConfigFiles(config) : {}
  return { ...ofConfig, ...(await hashAgentFiles(folder)) }
}

/** Every file of the agent folders: those that an agent file names are read with it. */
export async function hashAgentFiles(folder: string): Promise<FileHashes> {
  const paths = (await Promise.all(PROJECT_AGENT_FOLDERS.map((name) => filesAt(join(folder, name))))).flat()
  return paths.length === 0 ? {} : hashFiles(folder, paths)
}

/** Fails closed: a file in place of a folder is read as agents, too, and what cannot be read is an error. */
async function filesAt(path: string): Promise<string[]> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  if (!found) return []
  return found.isDirectory() ? (await listFilesBelow(path, () => true)).files : [path]
}

/** True if the operator trusts the folder with the content that it has now. */
export async function isProjectTrusted(folder: string): Promise<boolean> {
  const files = await hashProjectFiles(folder, await configFileIn(folder, PROJECT_CONFIG))
  return Object.keys(files).length === 0 || !(await findTrustChanges(trustRecordPath(), folder, files))
}

/** The folders and files in `agents` of the project's configuration, absolute. */
export async function agentPathsOfProject(folder: string): Promise<string[]> {
  const config = await configFileIn(folder, PROJECT_CONFIG)
  return config ? trustedAgentPaths(config) : []
}

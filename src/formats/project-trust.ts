import { join } from 'node:path'
import type { ConfigFile } from './config-file.ts'
import { hashConfigFiles } from './config-trust.ts'
import { listFilesBelow } from './file-tree.ts'
import { PROJECT_AGENT_FOLDERS } from './find-agents.ts'
import type { FileHashes } from './folder-trust.ts'
import { hashFiles } from './folder-trust.ts'

/** The files of a project that decide what its agents may do: the configuration with what it names, and the agent files. */
export async function hashProjectFiles(folder: string, config: ConfigFile | undefined): Promise<FileHashes> {
  const ofConfig = config ? await hashConfigFiles(config) : {}
  return { ...ofConfig, ...(await hashAgentFiles(folder)) }
}

/** Every file of the agent folders: those that an agent file names are read with it. */
export async function hashAgentFiles(folder: string): Promise<FileHashes> {
  const trees = PROJECT_AGENT_FOLDERS.map((name) =>
    listFilesBelow(join(folder, name), () => true).catch(() => undefined),
  )
  const paths = (await Promise.all(trees)).flatMap((tree) => tree?.files ?? [])
  return paths.length === 0 ? {} : hashFiles(folder, paths)
}

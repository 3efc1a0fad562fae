import { realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { AgentFileOptions } from './agent-file.ts'
import { parseAgentFile } from './agent-file.ts'
import type { FileProblem } from './file-problem.ts'
import { lineWarning } from './file-problem.ts'
import { MAX_TEXT_FILE_BYTES, readTextFile } from './file-text.ts'
import { listFilesBelow } from './file-tree.ts'
import type { RosterFile } from './roster-file.ts'
import { parseRosterFile } from './roster-file.ts'

export interface LoadedAgents {
  agents: Agent[]
  problems: FileProblem[]
}

export interface AgentFolderOptions extends AgentFileOptions {
  /** What the agents of the folder belong to; those of a folder below it belong to that folder. */
  collection?: string
}

const MARKDOWN = /\.md$/i
const YAML = /\.ya?ml$/i
const MAY_HOLD_AGENT = /^\uFEFF?\s*(?:(?:`{3,}|~{3,})\w*\s*\n\s*)?---[ \t]*\r?$/m

/**
 * The agents of the markdown and YAML files in a folder and below it, or of a single file. A file that cannot be used is a
 * problem, not the end of the others. Two agents of one name are both returned; `resolveNames` decides.
 */
export async function readAgentFolder(folder: string, options: AgentFolderOptions = {}): Promise<LoadedAgents> {
  const found: LoadedAgents = { agents: [], problems: [] }
  const { files, problems } = await listAgentFiles(folder)
  for (const path of files) {
    const collection = [options.collection, ...subfolderParts(folder, path)].filter(Boolean).join('/')
    try {
      const read = await readAgentsInFile(path, options)
      found.problems.push(...read.problems.map((problem) => ({ ...problem, path })))
      for (const { agent, problems } of read.agents) {
        if (collection !== '' && agent.origin?.by === 'user') agent.origin.collection = collection
        found.agents.push(agent)
        found.problems.push(...problems.map((problem) => ({ ...problem, path, agent: agent.name })))
      }
    } catch (error) {
      const message = (error as Error).message.replace(`${path}: `, '')
      found.problems.push({ level: 'error', path, line: 1, message })
    }
  }
  found.problems.push(...problems)
  return found
}

async function listAgentFiles(folder: string): Promise<{ files: string[]; problems: FileProblem[] }> {
  try {
    if ((await stat(folder)).isFile()) return { files: [folder], problems: [] }
    return await listFilesBelow(folder, (name) => MARKDOWN.test(name) || YAML.test(name))
  } catch (error) {
    throw new TroupeError('invalid_agent_file', `no agents can be read from ${folder}: ${(error as Error).message}`, {
      hint: 'name a folder with one markdown file for each agent',
      responsible: 'operator',
      cause: error,
    })
  }
}

function subfolderParts(root: string, path: string): string[] {
  const below = relative(root, dirname(path))
  return below === '' || below.startsWith('..') ? [] : below.split(sep)
}

async function readAgentsInFile(path: string, options: AgentFileOptions): Promise<RosterFile> {
  const nothing = { agents: [], problems: [] }
  const isRoster = YAML.test(path)
  const wanted = (head: string) => isRoster || /\.(agent|chatmode)\.md$/i.test(path) || MAY_HOLD_AGENT.test(head)
  const read = await readTextFile(path, wanted)
  if (read === undefined || (read === 'too large' && isRoster)) return nothing
  if (read === 'too large') {
    throw new TroupeError('too_large', `has more than ${MAX_TEXT_FILE_BYTES} bytes, too many for an agent file`)
  }
  const agent = isRoster ? undefined : await parseAgentFile(read.text, path, options)
  const readSibling = (name: string) => readSiblingFile(path, name)
  const file = isRoster
    ? await parseRosterFile(read.text, path, { ...options, readSibling })
    : { agents: agent ? [agent] : [], problems: [] }
  if (!read.isValidUtf8) file.agents[0]?.problems.unshift(lineWarning(1, INVALID_UTF8))
  return file
}

const INVALID_UTF8 = 'is not valid UTF-8; what could not be read was replaced'

/** A file that a roster names, if it lies in the roster's folder or below. */
async function readSiblingFile(path: string, name: string): Promise<string | undefined> {
  const folder = dirname(path)
  try {
    const inside = relative(await realpath(folder), await realpath(join(folder, name)))
    if (inside.startsWith('..') || isAbsolute(inside)) return undefined
    const read = await readTextFile(join(folder, name), () => true)
    return read === 'too large' ? undefined : read?.text
  } catch {
    return undefined
  }
}

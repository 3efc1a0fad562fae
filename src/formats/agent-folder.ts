import { realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { AgentFileOptions } from './agent-file.ts'
import { parseAgentFile } from './agent-file.ts'
import { BUILT_IN_COLLECTION, hasReservedName, RESERVED_NAME_HINT } from './built-in-agents.ts'
import type { FileProblem } from './file-text.ts'
import { lineWarning, MAX_TEXT_FILE_BYTES, readTextFile } from './file-text.ts'
import { listFilesBelow, SKIPPED_FOLDERS } from './file-tree.ts'
import type { RosterFile } from './roster-file.ts'
import { parseRosterFile } from './roster-file.ts'
import { isInFolder } from './user-home.ts'

export interface LoadedAgents {
  agents: Agent[]
  problems: FileProblem[]
}

export interface AgentFolderOptions extends AgentFileOptions {
  /** Collection of the agents in the folder; agents of a subfolder belong to that subfolder's collection. */
  collection?: string
  /** The folder that files must be in, after symlinks: a link to another file would make its text a system prompt (file disclosure). */
  within?: string
}

const MARKDOWN = /\.md$/i
const YAML = /\.ya?ml$/i
const MAY_HOLD_AGENT = /^\uFEFF?\s*(?:(?:`{3,}|~{3,})\w*\s*\n\s*)?---[ \t]*\r?$/m

/**
 * Reads the agents of all markdown and YAML files below a folder, or of a single file. An invalid file is reported and does
 * not affect the others. Agents with the same name are all returned; `resolveNameConflicts` decides.
 */
export async function readAgentFolder(folder: string, options: AgentFolderOptions = {}): Promise<LoadedAgents> {
  const found: LoadedAgents = { agents: [], problems: [] }
  const { files, problems } = await listAgentFiles(folder)
  for (const path of files) {
    const collection = collectionOf(folder, path, options)
    try {
      if (options.within !== undefined) await requireInside(options.within, path)
      const file = await readAgentsInFile(path, options)
      found.problems.push(...file.problems.map((problem) => ({ ...problem, path })))
      for (const { agent, problems } of file.agents) {
        if (hasReservedName(agent)) {
          found.problems.push(reservedNameProblem(agent, path))
          continue
        }
        if (collection !== '' && agent.origin?.by === 'user') agent.origin.collection = collection
        found.agents.push(agent)
        found.problems.push(...problems.map((problem) => ({ ...problem, path, agent: agent.name })))
      }
    } catch (error) {
      const message = (error as Error).message.replace(`${path}: `, '')
      const hint = error instanceof TroupeError && error.hint !== '' ? { hint: error.hint } : undefined
      found.problems.push({ level: 'error', path, line: 1, message, ...hint })
    }
  }
  found.problems.push(...problems)
  return found
}

/** A subfolder cannot be the built-in collection: its agents would hide built-in ones under their qualified names. */
function collectionOf(folder: string, path: string, { collection }: AgentFolderOptions): string {
  const joined = [collection, ...subfolderParts(folder, path)].filter(Boolean).join('/')
  return collection === undefined && joined === BUILT_IN_COLLECTION ? '' : joined
}

function reservedNameProblem({ name }: Agent, path: string): FileProblem {
  const message = `the agent is not used: the name '${name}' is reserved for a built-in one`
  return { level: 'error', path, line: 1, message, hint: RESERVED_NAME_HINT }
}

async function requireInside(folder: string, path: string): Promise<void> {
  const [root, target] = await Promise.all([realpath(folder), realpath(path)])
  if (isInFolder(root, target)) return
  throw new TroupeError('invalid_agent_file', `${path}: is a link to a file outside the project, which is not read`, {
    hint: 'copy the file into the project, or put it into ~/.config/troupe/agents',
    responsible: 'operator',
  })
}

export async function listAgentFiles(folder: string): Promise<{ files: string[]; problems: FileProblem[] }> {
  try {
    if ((await stat(folder)).isFile()) return { files: [folder], problems: [] }
    return await listFilesBelow(folder, (name) => MARKDOWN.test(name) || YAML.test(name))
  } catch (error) {
    throw new TroupeError('invalid_agent_file', `cannot read agents from ${folder}: ${(error as Error).message}`, {
      hint: 'name a folder with one markdown file per agent',
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
  const isRoster = YAML.test(path)
  const mayDefineAgent = (head: string) => isRoster || MAY_HOLD_AGENT.test(head)
  const content = await readTextFile(path, mayDefineAgent)
  if (content === undefined && NAMED_AS_AGENT.test(path)) return { agents: [], problems: [NO_FRONTMATTER] }
  if (content === undefined || (content === 'too large' && isRoster)) return { agents: [], problems: [] }
  if (content === 'too large') {
    throw new TroupeError('too_large', `larger than ${MAX_TEXT_FILE_BYTES} bytes, the limit for an agent file`, {
      hint: `shorten ${path}, or move it out of the agents folder`,
    })
  }
  const agent = isRoster ? undefined : await parseAgentFile(content.text, path, options)
  const readSibling = (name: string) => readSiblingFile(path, name)
  const file = isRoster
    ? await parseRosterFile(content.text, path, { ...options, readSibling })
    : { agents: agent ? [agent] : [], problems: [] }
  if (!content.isValidUtf8) file.agents[0]?.problems.unshift(lineWarning(1, INVALID_UTF8))
  return file
}

const NAMED_AS_AGENT = /\.(agent|chatmode)\.md$/i
const NO_FRONTMATTER = {
  ...lineWarning(1, 'has no frontmatter, so that it defines no agent'),
  hint: 'begin it with --- and a description',
}
const INVALID_UTF8 = 'not valid UTF-8; invalid bytes were replaced'

/** Reads a file named in a roster. Prevents path traversal: after symlinks it must be in the roster's folder or below. */
async function readSiblingFile(path: string, name: string): Promise<string | undefined> {
  const folder = dirname(path)
  try {
    const [root, target] = await Promise.all([realpath(folder), realpath(join(folder, name))])
    // The files of these folders are not part of what the operator trusts.
    if (
      !isInFolder(root, target) ||
      relative(root, target)
        .split(sep)
        .some((part) => SKIPPED_FOLDERS.has(part))
    )
      return undefined
    const content = await readTextFile(join(folder, name), () => true)
    return content === 'too large' ? undefined : content?.text
  } catch {
    return undefined
  }
}

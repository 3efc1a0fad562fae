import type { Agent } from '../../../index.ts'
import { projectFolder, trustedSearchOptions, usesTrustedAgents } from '../agent-roster.ts'
import type { Cli } from '../cli.ts'

/** Changes when an agent file that the chat uses is added, changed or removed. */
export async function chatAgentsSignature(cli: Cli): Promise<string> {
  const { agentFilesSignature } = await import('../../../formats/find-agents.ts')
  return agentFilesSignature(await trustedSearchOptions(cli))
}

/** The reason why changed agent files are not used. A half-saved file must not remove an agent, and a planted one not take effect unseen. */
export async function reloadProblem(cli: Cli, current: readonly Agent[]): Promise<string | undefined> {
  if (await hasUntrustedChange(cli)) return UNTRUSTED_CHANGE
  const { findAgents } = await import('../../../formats/find-agents.ts')
  try {
    const { problems } = await findAgents(await trustedSearchOptions(cli))
    const paths = current.flatMap(({ origin }) => (origin?.by === 'user' ? (origin.path ?? []) : []))
    const broken = problems.find(({ level, path }) => level === 'error' && paths.includes(path))
    return broken && `${broken.path}:${broken.line}: ${broken.message}`
  } catch (thrown) {
    return (thrown as Error).message
  }
}

const UNTRUSTED_CHANGE =
  'files of the project have changed since you trusted them, and are not used. Restart the chat: it shows the changes and asks.'

async function hasUntrustedChange(cli: Cli): Promise<boolean> {
  if (!usesTrustedAgents(cli)) return false
  const { isProjectTrusted } = await import('../../../formats/project-trust.ts')
  return !(await isProjectTrusted(projectFolder(cli)))
}

import { TEAM, USER } from '../../judgement/team/team-schema.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { TeamMessage } from './prompts.ts'
import { formatTeamMessage, SUMMARY_PROMPT, toUserMessage } from './prompts.ts'
import { findRequestMessage } from './sub-team-context.ts'
import { runSystemAgent } from './system-agent.ts'
import type { TeamState } from './team-state.ts'
import { contextLimitBytes } from './team-state.ts'

/** The newest messages, which stay whole. */
const KEEP_RECENT = 4
/** The share of the conversation that has to go for a summary to be worth its price. */
const MIN_SAVING = 0.2
/** How much of the room what the user said may take. */
const USER_SHARE = 0.5

/**
 * Keeps the conversation within the team's limit: older messages become a summary. What was asked, every handoff with its
 * reason and every artifact's name stay to the letter. The history of the run keeps all of it.
 */
export async function compressConversation(floor: TeamState): Promise<void> {
  const { context, thread, conversation, round } = floor
  if (thread.bytes <= floor.compressAtBytes) return
  const older = conversation.slice(0, -KEEP_RECENT)
  const asked = userMessagesToKeep(older, floor)
  const replaced = older.filter((line) => !asked.includes(line))
  // What little stands between the words of the user is not worth a call, and its summary might be longer.
  if (replaced.length < 2 || totalBytes(replaced) < thread.bytes * MIN_SAVING) return
  const key = `round/${round}/compress`
  const before = thread.bytes
  const request = { key: `${key}/summary`, thread, instruction: SUMMARY_PROMPT }
  const result = await runSystemAgent(floor, summarizerAgent(floor.plan.preamble), request)
  const messages = replaced.length
  // Pinned: a summary that was cut short, and succeeds when the run is resumed, must not change what later turns had read.
  const summed = await context.step(`${key}/summed`, () => result.status === 'completed' && result.text.trim() !== '')
  if (!summed) {
    // Left as it is, and tried again when it has doubled: a summary that fails in every turn would cost more than it saves.
    floor.compressAtBytes = before * 2
    const error = result.error?.message ?? 'the summary was empty'
    context.emit(key, 'team:compress', { round, before, after: before, messages: 0, error })
    return
  }
  const kept: TeamMessage[] = [
    ...asked,
    {
      from: TEAM,
      summary: result.text,
      decisions: floor.handoffs.map(
        ({ round: at, from, to, handoff_reason }) => `${at}: ${from} → ${to ?? 'nobody'}: ${handoff_reason}`,
      ),
      artifacts: [...new Set(floor.artifacts)],
    },
    ...conversation.slice(-KEEP_RECENT),
  ]
  conversation.splice(0, conversation.length, ...kept)
  thread.replace(kept.map(toUserMessage))
  floor.compressAtBytes = Math.max(floor.compressAtBytes, thread.bytes * 2)
  context.emit(key, 'team:compress', { round, before, after: thread.bytes, messages })
}

/**
 * What the user said stays to the letter: the request and the newest of it, as far as that leaves room for the others.
 * Of a conversation that goes on for long, a summary would keep the first thing that was asked and lose the last.
 */
function userMessagesToKeep(older: readonly TeamMessage[], floor: TeamState): TeamMessage[] {
  const request = findRequestMessage(floor)
  const kept = new Set<TeamMessage>()
  let room = contextLimitBytes(floor.plan) * USER_SHARE
  for (const line of older.filter(({ from }) => from === USER).reverse()) {
    room -= totalBytes([line])
    if (room > 0 || kept.size === 0 || line === request) kept.add(line)
  }
  return older.filter((line) => kept.has(line))
}

function totalBytes(lines: readonly TeamMessage[]): number {
  return lines.reduce((sum, line) => sum + Buffer.byteLength(formatTeamMessage(line)), 0)
}

function summarizerAgent(preamble: string): Agent {
  const description = 'Writes down what a team has come to when its conversation gets long'
  return { name: 'scribe', description, instructions: preamble, temperature: 0, tools: [] }
}

import { toTroupeError } from '../../errors.ts'
import type { PartialOutputReader, SettledResult } from '../../kernel/context.ts'
import { stopReasonFrom } from '../../kernel/session/budget.ts'
import type { TeamOutput } from './input.ts'
import type { TeamMessage } from './team-message.ts'
import type { TeamState } from './team-state.ts'

/*
 * A sub-team or consensus group that was cancelled or failed: its finished answers are in the output of the team. They are not in the
 * conversation, since a resumed run repeats the turn.
 */

/** Keeps the reader that a sub-run sets, and reads its partial output when the sub-run has thrown. */
export function createPartialOutputHolder() {
  let reader: PartialOutputReader | undefined
  return {
    set: (read: PartialOutputReader) => {
      reader = read
    },
    read: (thrown: unknown): unknown => reader?.(stopReasonFrom(toTroupeError(thrown))),
  }
}

/** Adds the answers in a sub-team to the history, under names such as `legal/drafter`. */
export function keepSubTeamOutput(
  { context, record }: TeamState,
  { name, key }: { name: string; key: string },
  partial: unknown,
): void {
  keepArtifacts({ context, record }, key)
  if (!partial) return
  const { history, response, totals } = partial as TeamOutput
  // The first entry is the request, which the history of this team has already.
  const answers = history.slice(1)
  for (const { step_id, agent_name, handoff_target: target, ...entry } of answers) {
    const handoff_target = target === null ? null : `${name}/${target}`
    record.history.push({ ...entry, step_id: `${key}/${step_id}`, agent_name: `${name}/${agent_name}`, handoff_target })
  }
  record.totals.router_calls += totals.router_calls
  if (response !== '') record.response = response
}

interface PartialContributions {
  contributions: readonly { agent: string; response: string; error?: unknown }[]
}

/** Makes the finished answers of a consensus group the response of the team, in the order of its members. */
export function keepContributions(
  { context, record }: TeamState,
  { names, key }: { names: readonly string[]; key: string },
  partial: unknown,
): void {
  keepArtifacts({ context, record }, key)
  const { contributions } = (partial ?? { contributions: [] }) as PartialContributions
  const answers = names.flatMap((name) =>
    contributions
      .filter(({ agent, response, error }) => agent === name && error === undefined && response !== '')
      .map(({ response }) => `${name}: ${response}`),
  )
  if (answers.length > 0) record.response = answers.join('\n\n')
}

/** Adds the finished answers of a parallel group, in which a sub-run was cancelled, to the response that the sub-run has left. */
export function keepAnswersOfCancelledGroup(
  { record }: TeamState,
  earlierResponse: string,
  settled: readonly SettledResult<{ messages: readonly TeamMessage[] }>[],
): void {
  if (!settled.some((member) => !member.ok && member.error.code === 'cancelled')) return
  const messages = settled.flatMap((member) => (member.ok ? member.value.messages : []))
  const answers = messages.flatMap(({ from, text = '' }) => (text === '' ? [] : [`${from}: ${text}`]))
  const partial = record.response === earlierResponse ? [] : [record.response]
  if (answers.length > 0) record.response = [...answers, ...partial].join('\n\n')
}

function keepArtifacts({ context, record }: Pick<TeamState, 'context' | 'record'>, key: string): void {
  record.artifacts.push(...context.artifactsUnder(key).map(({ name, version }) => `${name}@${version}`))
}

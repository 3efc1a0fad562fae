import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { conversationFrom, handoffsFrom, readTeamRun, requestsFrom } from '../../../test/support/team-harness.ts'
import { functionModel, runToEnd } from '../../../test/support/test-troupe.ts'
import { createTroupe, defineTool } from '../../index.ts'

const look = defineTool({
  ...{ name: 'Look', description: 'looks', category: 'perception' as const, kind: 'read' as const },
  input: z.object({}),
  execute: async () => ({ success: true, output: 'x' }),
})

/** Runs a team in which `a` calls a tool until `limits.turns`; then it gives this final answer. */
async function runWithTurnLimit(finalAnswer: string, handoffs: unknown[]) {
  const model = functionModel(({ session, tools }) => {
    if (session.agent !== 'a') return { text: session.agent }
    return tools.length > 0 && session.turn <= 2 ? { calls: [{ name: 'Look', input: {} }] } : { text: finalAnswer }
  })
  const troupe = await createTroupe({ store: 'memory', model, tools: [look] })
  const team = { name: 'T', agents: [{ name: 'a' }, { name: 'b' }, { name: 'h' }], handoffs }
  const input = { team: { ...team, after_work_behavior: 'terminate' }, message: 'x' }
  return readTeamRun(troupe, model, await runToEnd(troupe, 'team' as string, input, { limits: { turns: 2 } }))
}

const handoffToB = { from_agent: 'a', to_agent: 'b', condition: 'a complete and not error detected' }

describe('an agent that reached limits.turns', () => {
  test('TM38 an empty final answer is a failure, and error rules apply', async () => {
    const failed = await runWithTurnLimit('', [handoffToB])
    expect(failed.result).toMatchObject({ status: 'failed', stop_reason: 'max_turns' })
    expect(failed.result.error?.message).toBe('a, round 1: a gave an empty answer (stop_reason max_turns)')
    const handled = await runWithTurnLimit('', [
      handoffToB,
      { from_agent: 'a', to_agent: 'h', condition: 'error detected' },
    ])
    expect([handled.result.status, handled.route]).toEqual(['completed', ['a', 'h']])
    const [request] = requestsFrom(handled, 'h')
    expect(request && conversationFrom(request).at(-1)).toMatchObject({
      from: 'a',
      error: 'a gave an empty answer (stop_reason max_turns)',
    })
  })

  test('TM38 resume requests the final answer again', async () => {
    const model = functionModel(({ session }) => {
      const count = model.requests.filter((request) => request.session.agent === 'a').length
      if (session.agent !== 'a') return { text: session.agent }
      if (count <= 2) return { calls: [{ name: 'Look', input: {} }] }
      return { text: count > 3 ? 'final answer' : '' }
    })
    const troupe = await createTroupe({ store: 'memory', model, tools: [look] })
    const team = { name: 'T', agents: [{ name: 'a' }, { name: 'b' }], handoffs: [handoffToB] }
    const input = { team: { ...team, after_work_behavior: 'terminate' }, message: 'x' }
    const failed = await runToEnd(troupe, 'team' as string, input, { limits: { turns: 2 } })
    expect(failed.status).toBe('failed')
    const done = await readTeamRun(troupe, model, await (await troupe.resume(failed.run_id)).result)
    expect([done.result.status, requestsFrom(done, 'a').length, done.route]).toEqual(['completed', 4, ['a', 'b']])
    expect(done.output.history.find(({ agent_name }) => agent_name === 'a')?.parts[0]?.text).toBe('final answer')
  })

  test('TM38 a partial answer carries its stop_reason in conversation, history and problems', async () => {
    const run = await runWithTurnLimit('partial answer', [handoffToB])
    expect(run.route).toEqual(['a', 'b'])
    const [request] = requestsFrom(run, 'b')
    expect(request && conversationFrom(request).at(-1)).toMatchObject({
      text: 'partial answer',
      stop_reason: 'max_turns',
    })
    const entry = run.output.history.find(({ agent_name }) => agent_name === 'a')
    expect(entry).toMatchObject({ stop_reason: 'max_turns' })
    const [handoff] = handoffsFrom(run.events).filter(({ from }) => from === 'a')
    expect(handoff?.problems).toContain('the answer is incomplete: stop_reason max_turns')
    expect(run.output.history.find(({ agent_name }) => agent_name === 'b')).not.toHaveProperty('stop_reason')
  })
})

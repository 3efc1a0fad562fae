import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { conversationFrom, handoffsFrom, readTeamRun, requestsFrom } from '../../../test/support/team-harness.ts'
import { functionModel } from '../../../test/support/test-troupe.ts'
import { createTroupe, defineTool } from '../../index.ts'

const look = defineTool({
  ...{ name: 'Look', description: 'looks', category: 'perception' as const, kind: 'read' as const },
  input: z.object({}),
  execute: async () => ({ success: true, output: 'x' }),
})

/** `a` only ever looks, until it is out of turns; then it says this. */
async function outOfTurns(lastWords: string, handoffs: unknown[]) {
  const model = functionModel(({ session, tools }) => {
    if (session.agent !== 'a') return { text: session.agent }
    return tools.length > 0 && session.turn <= 2 ? { calls: [{ name: 'Look', input: {} }] } : { text: lastWords }
  })
  const troupe = await createTroupe({ store: 'memory', model, tools: [look] })
  const team = { name: 'T', agents: [{ name: 'a' }, { name: 'b' }, { name: 'h' }], handoffs }
  const input = { team: { ...team, after_work_behavior: 'terminate' }, message: 'x' }
  return readTeamRun(troupe, model, await troupe.run('team', input, { limits: { turns: 2 } }))
}

const onward = { from_agent: 'a', to_agent: 'b', condition: 'a complete and not error detected' }

describe('an agent that ran out of turns', () => {
  test('TM38 without a word has failed: it is not complete, and rules for errors apply', async () => {
    const failed = await outOfTurns('', [onward])
    expect(failed.result).toMatchObject({ status: 'failed', stop_reason: 'max_turns' })
    expect(failed.result.error?.message).toBe('a, round 1: a said nothing: it ended with max_turns')
    const taken = await outOfTurns('', [onward, { from_agent: 'a', to_agent: 'h', condition: 'error detected' }])
    expect([taken.result.status, taken.route]).toEqual(['completed', ['a', 'h']])
    const [asked] = requestsFrom(taken, 'h')
    expect(asked && conversationFrom(asked).at(-1)).toMatchObject({
      from: 'a',
      error: 'a said nothing: it ended with max_turns',
    })
  })

  test('TM38 is asked for its last word again when the run is resumed', async () => {
    const model = functionModel(({ session }) => {
      const asked = model.requests.filter((request) => request.session.agent === 'a').length
      if (session.agent !== 'a') return { text: session.agent }
      if (asked <= 2) return { calls: [{ name: 'Look', input: {} }] }
      return { text: asked > 3 ? 'at last' : '' }
    })
    const troupe = await createTroupe({ store: 'memory', model, tools: [look] })
    const team = { name: 'T', agents: [{ name: 'a' }, { name: 'b' }], handoffs: [onward] }
    const input = { team: { ...team, after_work_behavior: 'terminate' }, message: 'x' }
    const failed = await troupe.run('team', input, { limits: { turns: 2 } })
    expect(failed.status).toBe('failed')
    const done = await readTeamRun(troupe, model, await (await troupe.resume(failed.run_id)).result)
    expect([done.result.status, requestsFrom(done, 'a').length, done.route]).toEqual(['completed', 4, ['a', 'b']])
    expect(done.output.history.find(({ agent_name }) => agent_name === 'a')?.parts[0]?.text).toBe('at last')
  })

  test('TM38 with a last word goes on, and everybody is told that it was cut short', async () => {
    const scene = await outOfTurns('half of it', [onward])
    expect(scene.route).toEqual(['a', 'b'])
    const [asked] = requestsFrom(scene, 'b')
    expect(asked && conversationFrom(asked).at(-1)).toMatchObject({ text: 'half of it', stop_reason: 'max_turns' })
    const entry = scene.output.history.find(({ agent_name }) => agent_name === 'a')
    expect(entry).toMatchObject({ stop_reason: 'max_turns' })
    const [told] = handoffsFrom(scene.events).filter(({ from }) => from === 'a')
    expect(told?.problems).toContain('its answer was cut short: max_turns')
    expect(scene.output.history.find(({ agent_name }) => agent_name === 'b')).not.toHaveProperty('stop_reason')
  })
})

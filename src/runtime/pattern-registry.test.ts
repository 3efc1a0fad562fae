import { expect, test } from 'vitest'
import { z } from 'zod'
import { eventData } from '../../test/support/manual-doubles.ts'
import type { ModelReply } from '../../test/support/test-troupe.ts'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../test/support/test-troupe.ts'
import { BUILT_IN_TOOLS } from '../formats/tool-aliases.ts'
import type { DelegationRules, Pattern } from '../kernel/pattern.ts'
import { definePattern } from '../kernel/pattern.ts'
import { loadPatternRegistry } from './pattern-registry.ts'
import type { TroupeOptions } from './troupe-options.ts'

test('A10 the tool of every built-in pattern can be named in agent files', async () => {
  const team = { name: 'pair', agents: [{ name: 'a' }] }
  const { tools } = await loadPatternRegistry({ team: { teams: [team] } })
  const names = [...tools.values()].map(({ pattern }) => pattern.name)
  expect(names).toEqual(expect.arrayContaining(['task', 'team', 'build']))
  expect(names.filter((name) => !BUILT_IN_TOOLS.includes(name))).toEqual([])
})

/** A user's pattern that asks one agent; it knows nothing of the built-in ones. */
function poll(more: Partial<Pattern> = {}): Pattern {
  return definePattern({
    name: 'poll',
    version: 1,
    description: 'asks an agent',
    category: 'task_management',
    aliases: ['AskColleague'],
    delegation: { self: 'count', cycles: 'refuse' },
    input: z.strictObject({ who: z.string() }),
    output: z.strictObject({ answer: z.string() }),
    agents: ({ who }) => [who],
    async execute(context, { who }) {
      const { text, error } = await context.perform(context.roster.get(who), { instruction: 'yes?' }, { key: 'asked' })
      return error
        ? { success: false, error: error.message, detail: error }
        : { success: true, output: { answer: text } }
    },
    ...(more as object),
  })
}

/** Runs the lead, which makes the calls of its script, one per turn; returns the tool results and errors. */
async function runLead(options: TroupeOptions, replies: Readonly<Record<string, ModelReply>>) {
  const model = functionModel((request) =>
    request.session.turn === 1
      ? (replies[request.session.agent] ?? { text: 'yes' })
      : { text: lastMessageText(request) },
  )
  const { troupe, task } = await createTestTroupe({
    model,
    agents: [agent('lead'), agent('helper'), agent('critic')],
    ...options,
  })
  const { run_id } = await task('lead', 'go')
  const events = await troupe.events(run_id).all()
  return {
    results: eventData(events, 'tool:post').map(({ tool, output }) => [tool, output]),
    errors: eventData(events, 'tool:error').map(({ tool, detail }) => [tool, detail.code]),
  }
}

const ask = (who: string, name = 'poll'): ModelReply => ({ calls: [{ name, input: { who } }] })

test('PT5 a pattern is a tool under its name and its aliases, including in the `tools` of an agent', async () => {
  const agents = [agent('lead', { tools: ['AskColleague'] }), agent('helper')]
  const { results, errors } = await runLead({ agents, patterns: [poll()] }, { lead: ask('helper', 'AskColleague') })
  expect([results, errors]).toEqual([[['poll', { answer: 'yes' }]], []])
})

test.each(['run', 'tool'] as const)('PT5 a pattern that is `only` a %s is nothing else', async (only) => {
  const { troupe, task } = await createTestTroupe({
    model: functionModel((request) =>
      request.session.agent === 'lead' && request.session.turn === 1 ? ask('helper') : { text: 'yes' },
    ),
    agents: [agent('lead'), agent('helper')],
    patterns: [poll({ only })],
  })
  const { run_id } = await task('lead', 'go')
  const called = eventData(await troupe.events(run_id).all(), 'tool:post').map(({ tool }) => tool)
  expect(called).toEqual(only === 'tool' ? ['poll'] : [])
  const starting = troupe.run('poll', { who: 'helper' })
  if (only === 'run') expect((await starting).output).toEqual({ answer: 'yes' })
  else await expect(starting).rejects.toMatchObject({ code: 'unknown_pattern' })
})

test.each([
  ['poll(helper)', 'helper', 'denied'],
  ['AskColleague(helper)', 'helper', 'denied'],
  ['task(helper)', 'helper', 'denied'],
  ['Agent(helper)', 'helper', 'denied'],
  ['task(critic)', 'helper', undefined],
])('PT6 with the rule deny %s a call that names %s is %s', async (rule, who, code) => {
  const { errors } = await runLead({ permissions: { deny: [rule] }, patterns: [poll()] }, { lead: ask(who) })
  expect(errors).toEqual(code === undefined ? [] : [['poll', code]])
})

test.each<[DelegationRules, string, string, string | undefined]>([
  [{ self: 'count', cycles: 'refuse' }, 'helper', 'lead', 'cycle_refused'],
  [{ self: 'count', cycles: 'allow' }, 'helper', 'lead', 'depth_exceeded'],
  [{ self: 'refuse', cycles: 'refuse' }, 'lead', 'helper', 'cycle_refused'],
  [{ self: 'refuse', cycles: 'allow' }, 'lead', 'helper', 'cycle_refused'],
])('PT7 with the delegation rules %j, lead calls %s, which calls %s: %s', async (delegation, first, then, code) => {
  const { errors } = await runLead(
    { patterns: [poll({ delegation })], limits: { depth: 3, self_depth: 1 } },
    { lead: ask(first), helper: ask(then) },
  )
  expect(errors.at(0)).toEqual(['poll', code])
})

test('PT11 a run that ends before its pattern returns keeps what the pattern gave with setPartialOutput', async () => {
  const survey = definePattern({
    name: 'survey',
    version: 1,
    description: 'asks a person twice',
    category: 'task_management',
    input: z.strictObject({ fail: z.boolean().default(false) }),
    output: z.strictObject({ answers: z.array(z.string()) }),
    async execute(context, { fail }) {
      const answers: string[] = []
      context.setPartialOutput((stop_reason) => ({ answers, stop_reason }))
      for (const key of ['one', 'two']) answers.push(String(await context.ask(key, { question: `${key}?` })))
      if (fail) throw new Error('broken')
      return { success: true, output: { answers } }
    },
  })
  const { troupe } = await createTestTroupe({ patterns: [survey] })
  const answerNext = async () => (await troupe.answer((await troupe.gates().all())[0]?.gate_id ?? '', 'yes')).result
  const waiting = await troupe.run('survey' as string, {})
  await answerNext()
  expect(await troupe.cancel(waiting.run_id)).toMatchObject({
    status: 'cancelled',
    output: { answers: ['yes'], stop_reason: 'cancelled' },
  })
  await troupe.run('survey' as string, { fail: true })
  await answerNext()
  expect(await answerNext()).toMatchObject({
    status: 'failed',
    output: { answers: ['yes', 'yes'], stop_reason: 'failed' },
  })
})

import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { functionModel } from '../../test/support/test-troupe.ts'
import { definePattern } from '../entries/patterns.ts'
import type { BuildOutput, ConsultOutput, RunResult, SettledRun, TeamOutput, Troupe } from '../index.ts'
import { createTroupe, isEvent } from '../index.ts'
import type { BUILT_IN_PATTERNS } from './built-in-patterns.ts'
import type { TypesOf } from './typed-run.ts'

const summarize = definePattern({
  name: 'summarize',
  description: 'summarizes',
  version: 1,
  category: 'planning',
  input: z.object({ text: z.string(), words: z.int().default(3) }),
  output: z.object({ summary: z.string() }),
  events: { 'summarize:cut': z.object({ words: z.int() }) },
  async execute(context, { text, words }) {
    expectTypeOf(words).toEqualTypeOf<number>()
    context.emit('cut', 'summarize:cut', { words })
    return { success: true, output: { summary: text.split(' ').slice(0, words).join(' ') } }
  },
})

const echo = definePattern({
  name: 'echo',
  description: 'returns its input',
  version: 1,
  category: 'planning',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  output: { type: 'object' },
  execute: async (_context, input) => ({ success: true, output: input }),
})

const newTroupe = () =>
  createTroupe({
    store: 'memory',
    model: functionModel(() => ({ text: '{"verdict":"yes"}' })),
    patterns: [summarize, echo],
  })

test('TY1 input and output of patterns that are passed in are typed, and checked at runtime too', async () => {
  await using troupe = await newTroupe()
  const result = await troupe.run('summarize', { text: 'one two three four' })
  expectTypeOf(result.output).toEqualTypeOf<{ summary: string } | null>()
  expect(result.output?.summary).toBe('one two three')
  const handle = await troupe.stream('summarize', { text: 'a b', words: 1 })
  expectTypeOf(handle.result).resolves.toEqualTypeOf<RunResult<{ summary: string }>>()
  expect((await handle.result).output).toEqual({ summary: 'a' })
  // @ts-expect-error The field is called `text`.
  await expect(troupe.run('summarize', { txt: 'a' })).rejects.toThrow('text is missing')
  // @ts-expect-error `words` is a number.
  await expect(troupe.run('summarize', { text: 'a', words: 'two' })).rejects.toThrow('words')
  // @ts-expect-error A misspelt optional field is found, too.
  await troupe.run('summarize', { text: 'a', word: 2 })
})

test('TY3 lists of an input may be read-only, and `isEvent` narrows events of built-in patterns', async () => {
  await using troupe = await newTroupe()
  const input = { task: 'Which one?', agents: [{ name: 'a' }, { name: 'b', role: 'b' }], synthesis: 'vote' } as const
  const { run_id } = await troupe.run('collaborate', input)
  const started = (await troupe.events(run_id).all()).flatMap((event) => {
    if (!isEvent(event, 'tool:collaborative:start')) return []
    expectTypeOf(event.data.agents).toExtend<readonly string[]>()
    return event.data.agents
  })
  expect(started).toEqual(['a', 'b'])
})

test('J24 a pattern that returns `retry_keys` or calls `earlierWork` does not compile', () => {
  const old = {
    name: 'old',
    description: 'old',
    version: 1,
    category: 'planning',
    input: z.object({}),
    output: z.null(),
  } as const
  definePattern({
    ...old,
    // @ts-expect-error `resume` finds out what depends on a failed step.
    execute: async () => ({ success: true, output: null, retry_keys: ['a'] }),
  })
  definePattern({
    ...old,
    async execute(context) {
      // @ts-expect-error A request is kept with `keep`.
      context.earlierWork(['a'])
      return { success: true, output: null }
    },
  })
})

test('TY1 the fields `output` and `object` of a pattern that takes no schema keep their types', async () => {
  const print = definePattern({
    name: 'print',
    description: 'prints',
    version: 1,
    category: 'planning',
    input: z.object({ output: z.enum(['md', 'html']) }),
    output: z.object({ object: z.string(), pages: z.int().default(1) }),
    execute: async (_context, { output }) => ({ success: true, output: { object: output } }),
  })
  await using troupe = await createTroupe({ store: 'memory', patterns: [print] })
  const result = await troupe.run('print', { output: 'md' })
  // Outputs are checked, not transformed: a default does not fill in `pages`.
  expectTypeOf(result.output).toEqualTypeOf<{ object: string; pages?: number | undefined } | null>()
  expect(result.output).toEqual({ object: 'md' })
  // @ts-expect-error `output` is missing.
  await expect(troupe.run('print', {})).rejects.toThrow('output')
})

test('TY1 input and output of built-in patterns are typed', async () => {
  await using troupe = await newTroupe()
  const { output } = await troupe.run('task', { agent: 'default', instruction: 'go' })
  expectTypeOf<NonNullable<typeof output>['response']>().toEqualTypeOf<string>()
  expect(output?.response).toBe('{"verdict":"yes"}')
  // @ts-expect-error `instruction` is missing.
  await expect(troupe.run('task', { agent: 'default' })).rejects.toThrow('instruction is missing')
  // @ts-expect-error A misspelt optional field is found, too.
  await expect(troupe.run('task', { instruction: 'go', agnt: 'default' })).rejects.toThrow('agnt')
  // @ts-expect-error The collaboration needs agents.
  await expect(troupe.run('collaborate', { task: 'x' })).rejects.toThrow('agents')
  const voted = await troupe.run('collaborate', { task: 'x', agents: [{ name: 'ann' }], synthesis: 'vote' })
  expectTypeOf(voted.output?.vote?.winner).toEqualTypeOf<string | null | undefined>()
  expect(voted.output?.vote?.strategy).toBe('weighted')
  // @ts-expect-error The answer is in `result`.
  expect(voted.output?.response).toBeUndefined()
})

type BuiltInName = keyof typeof BUILT_IN_PATTERNS
/** The built-in patterns whose input or output the compiler does not know. */
type UntypedName = {
  [Name in BuiltInName]: unknown extends TypesOf<[], Name>['input'] | TypesOf<[], Name>['output'] ? Name : never
}[BuiltInName]

test('TY1 the compiler knows the input and the output of every built-in pattern', async () => {
  expectTypeOf<UntypedName>().toBeNever()
  const team = { name: 'T', agents: [{ name: 'a' }] }
  await using troupe = await newTroupe()
  // @ts-expect-error `request` is missing, and there is no `nope`.
  await expect(troupe.run('build', { nope: 1 })).rejects.toThrow('request is missing')
  // @ts-expect-error `question` is missing.
  await expect(troupe.run('consult', { agent: 'default' })).rejects.toThrow('question is missing')
  // @ts-expect-error `message` is missing.
  await expect(troupe.run('team', { team })).rejects.toThrow('message')
  const runs = {
    build: () => troupe.run('build', { request: 'Write it.' }),
    consult: () => troupe.run('consult', { question: 'Why?' }),
    team: () => troupe.run('team', { team, message: 'Go.' }),
  }
  expectTypeOf(runs.build).returns.resolves.toEqualTypeOf<SettledRun<BuildOutput>>()
  expectTypeOf(runs.consult).returns.resolves.toEqualTypeOf<SettledRun<ConsultOutput>>()
  expectTypeOf(runs.team).returns.resolves.toEqualTypeOf<SettledRun<TeamOutput>>()
})

test('TY1 any other name takes and gives unknown', async () => {
  await using troupe = await newTroupe()
  const name: string = 'summarize'
  const result = await troupe.run(name, { text: 'one two' })
  expectTypeOf(result.output).toBeUnknown()
  expect(result.output).toEqual({ summary: 'one two' })
  const echoed = await troupe.run('echo', { text: 'hi' })
  expectTypeOf(echoed.output).toBeUnknown()
  expect(echoed.output).toEqual({ text: 'hi' })
  await expect(troupe.run('echo', {})).rejects.toThrow('text is missing')
  await expect(troupe.run('sumarize', 7)).rejects.toThrow("no pattern 'sumarize'; known: summarize")
  const plain: Troupe = troupe
  const again = await plain.run('summarize', { text: 'a' })
  expectTypeOf(again).toEqualTypeOf<SettledRun>()
})

test('TY2 the type of object comes from the output schema of a task', async () => {
  await using troupe = await newTroupe()
  const output = z.object({ verdict: z.enum(['yes', 'no']) })
  const result = await troupe.run('task', { agent: 'default', instruction: 'go', output })
  expectTypeOf<NonNullable<typeof result.output>['object']>().toEqualTypeOf<{ verdict: 'yes' | 'no' }>()
  expect(result.output?.object.verdict).toBe('yes')
  const schema = { type: 'object', properties: { verdict: { type: 'string' } } }
  const untyped = await troupe.run('task', { agent: 'default', instruction: 'go', output: schema })
  expectTypeOf<NonNullable<typeof untyped.output>['object']>().toBeUnknown()
  expect(untyped.output?.object).toEqual({ verdict: 'yes' })
})

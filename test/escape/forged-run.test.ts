import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { definePattern } from '../../src/entries/patterns.ts'
import type { Event, TroupeOptions } from '../../src/index.ts'
import { createTroupe, isEvent } from '../../src/index.ts'
import type { EventOf } from '../../src/kernel/event.ts'
import { DEFAULT_LIMITS } from '../../src/kernel/limits.ts'
import { scriptedPerformer } from '../../src/testing/scripted-performer.ts'
import type { CommandRunner } from '../../src/tools/sandbox/command-runner.ts'
import { countEachTest } from '../support/attempt-count.ts'
import { requireSandbox } from '../support/require-program.ts'
import { agent, functionModel, runToEnd } from '../support/test-troupe.ts'
import type { Attack } from './foreign-copy.ts'
import {
  ASK,
  changeSession,
  changeStart,
  commands,
  copyPath,
  done,
  EVIL,
  expectRefused,
  NAMED,
  openCopy,
  start,
  useForeignCopies,
  withAnswer,
} from './foreign-copy.ts'

beforeEach(countEachTest('store'))

/* What else a forged journal could choose: models, rules, calls in progress, verdicts of hooks, performers. */

const folder = useForeignCopies()

/** Asks a question first, so that the run waits. */
const askThen = (command: string) =>
  functionModel(({ session: { turn } }) => {
    if (turn === 1) return { calls: [{ name: 'ask_user', input: { question: 'Shall I?' } }] }
    return turn === 2 ? { calls: [{ name: 'Bash', input: { command } }] } : { text: 'done' }
  })

/** Answers the question of the run. At the default place that is refused. */
async function answerHere(attack: Attack, isNamed: boolean, here: TroupeOptions = {}, answer = 'yes') {
  const { troupe, run_id } = await openCopy(attack, isNamed, here)
  const [gate] = (await troupe.gates()).items
  const answering = troupe.answer(gate?.gate_id ?? '', answer)
  if (!isNamed) {
    await expectRefused(answering)
    return undefined
  }
  return { troupe, run_id, result: await (await answering).result }
}

const MODELS: Record<string, (model: string) => NonNullable<Attack['forge']>> = {
  'the run': (model) => changeStart({ model }),
  'a session': (model) => changeSession(() => ({ model })),
  "a session's agent": (model) => changeSession(({ agent: named }) => ({ model, agent: { ...named, model } })),
}

test.each(Object.keys(MODELS).flatMap((part) => NAMED.map((isNamed) => [part, isNamed] as const)))(
  'E28 a recorded model of %s reads no script of this machine (named store as a control: %s)',
  async (part, isNamed) => {
    const script = join(folder(), 'script.json')
    writeFileSync(script, JSON.stringify({ rules: [{ reply: { text: 'read from the host' } }] }))
    const name = `scripted:${script}`
    const attack: Attack = {
      options: { ...ASK, agents: [agent('worker', { tools: ['ask_user'] })], model: askThen('true') },
      prepare: async (troupe) => (await start(troupe)).run_id,
      ...{ forge: MODELS[part]?.(name) ?? ((events) => events) },
    }
    const answered = await answerHere(attack, isNamed)
    if (isNamed) expect(JSON.stringify(answered?.result)).toContain('read from the host')
  },
)

const CONTINUED: Record<string, (script: string) => NonNullable<Attack['forge']>> = {
  model: (model) => changeSession(() => ({ model })),
  performer: () => changeSession(({ agent: named }) => ({ agent: { ...named, performer: 'external' } })),
}

test.each(Object.keys(CONTINUED).flatMap((part) => NAMED.map((isNamed) => [part, isNamed] as const)))(
  'E28 a recorded session chooses no %s, since no new run continues it (named store as a control: %s)',
  async (part, isNamed) => {
    const script = join(folder(), 'script.json')
    writeFileSync(script, JSON.stringify({ rules: [{ reply: { text: 'by the attacker' } }] }))
    const finish = { do: 'finish' as const, result: { stop: 'completed' as const, text: 'by the attacker' } }
    const attack: Attack = {
      options: { ...ASK, model: commands(), performers: { external: scriptedPerformer({ actions: [finish] }) } },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: CONTINUED[part]?.(`scripted:${script}`) ?? ((events) => events),
    }
    const { troupe, run_id } = await openCopy(attack, isNamed)
    const [session] = await troupe.sessions({ run_id }).all()
    const running = runToEnd(troupe, 'task', { instruction: 'go on', session_id: session?.session_id ?? '' })
    if (!isNamed) return expectRefused(running)
    expect(JSON.stringify(await running)).toContain('by the attacker')
  },
)

test.each(['answer', 'steer'] as const)('E28 `%s` stores nothing', async (how) => {
  const team = { name: 'Pair', agents: [{ name: 'worker' }], after_work_behavior: 'return_to_user' as const }
  const attack: Attack = {
    options: { ...ASK, model: functionModel(() => ({ text: 'Shall I?' })) },
    prepare: async (troupe) => (await runToEnd(troupe, 'team', { team, message: 'go' })).run_id,
  }
  const reply = { do: 'say' as const, text: 'yes' }
  const give = async ({ troupe, run_id }: Awaited<ReturnType<typeof openCopy>>) => {
    const [gate] = await troupe.gates({ run_id }).all()
    return how === 'steer' ? troupe.steer(run_id, reply) : troupe.answer(gate?.gate_id ?? '', reply)
  }
  const copy = await openCopy(attack, false)
  await expectRefused(give(copy))
  expect(await copy.troupe.gates({ run_id: copy.run_id }).all()).toHaveLength(1)
  await copy.troupe.close()
  const named = await createTroupe({ ...attack.options, store: copyPath(), config: false })
  onTestFinished(() => named.close())
  await (await give({ troupe: named, run_id: copy.run_id })).result
  const events = await named.events(copy.run_id).all()
  expect(events.filter((event) => isEvent(event, 'gate:answer'))).toHaveLength(1)
})

test.each(['answer', 'steer'] as const)(
  'E38 `%s` that cannot be used here stores nothing: it can be repeated',
  async (how) => {
    const [theirs, ours] = [mkdtempSync(join(tmpdir(), 'troupe-theirs-')), mkdtempSync(join(tmpdir(), 'troupe-ours-'))]
    onTestFinished(() => [theirs, ours].forEach((path) => void rmSync(path, { recursive: true, force: true })))
    const team = { name: 'Pair', agents: [{ name: 'worker' }], after_work_behavior: 'return_to_user' as const }
    const attack: Attack = {
      options: {
        agents: [agent('worker')],
        model: functionModel(() => ({ text: 'Shall I?' })),
        workspace: { workspace: theirs },
      },
      prepare: async (troupe) => (await runToEnd(troupe, 'team', { team, message: 'go' })).run_id,
    }
    const reply = { do: 'say' as const, text: 'yes' }
    const give = async ({ troupe, run_id }: Awaited<ReturnType<typeof openCopy>>) => {
      const [gate] = await troupe.gates({ run_id }).all()
      return how === 'steer' ? troupe.steer(run_id, reply) : troupe.answer(gate?.gate_id ?? '', reply)
    }
    const elsewhere = await openCopy(attack, true, { workspace: { workspace: ours } })
    await expect(give(elsewhere)).rejects.toMatchObject({
      code: 'invalid_input',
      hint: expect.stringContaining(theirs),
    })
    expect(await elsewhere.troupe.gates({ run_id: elsewhere.run_id }).all()).toHaveLength(1)
    await elsewhere.troupe.close()
    const again = await createTroupe({ ...attack.options, store: copyPath(), config: false })
    onTestFinished(() => again.close())
    const { status } = await (await give({ troupe: again, run_id: elsewhere.run_id })).result
    expect(status).toBe('waiting')
    const events = await again.events(elsewhere.run_id).all()
    expect(events.filter((event) => isEvent(event, 'gate:answer'))).toHaveLength(1)
  },
)

/** The names, and whether the control requests the provider: the last two are an address that is no name, and a second choice. */
const PROVIDERS: readonly (readonly [model: string, isRequested: boolean])[] = [
  ['ollama/llama3', true],
  ['lmstudio/x,general', true],
  ['compatible:http://127.0.0.1:9/v1', false],
  ['general,lmstudio/x', false],
]

test.each(PROVIDERS.flatMap(([model, isRequested]) => NAMED.map((isNamed) => [model, isNamed, isRequested] as const)))(
  'E28 the recorded model %s reaches no provider that nobody set up (named store as a control: %s)',
  async (model, isNamed, isRequested) => {
    const attack: Attack = {
      options: { ...ASK, agents: [agent('worker', { tools: ['ask_user'] })], model: askThen('true') },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: changeStart({ model }),
    }
    const requested = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('no network'))
    onTestFinished(() => requested.mockRestore())
    await answerHere(attack, isNamed)
    expect(requested.mock.calls.length > 0).toBe(isNamed && isRequested)
  },
)

test.each(NAMED)('E28 recorded `allow` rules allow nothing (named store as a control: %s)', async (isNamed) => {
  const attack: Attack = {
    options: { ...ASK, permissions: { mode: 'ask' }, model: askThen(EVIL) },
    prepare: async (troupe) => (await start(troupe)).run_id,
    forge: changeStart({ permissions: { mode: 'ask', allow: ['Bash'] } }),
  }
  await answerHere(attack, isNamed)
  expect(done).toEqual(isNamed ? [EVIL] : [])
})

/** Marks the call that waits for permission as begun. */
const asBegun = (kind: string) => (events: Event[]) => {
  const gate = events.findLast((event) => isEvent(event, 'gate:open')) as EventOf<'gate:open'>
  const key = gate.data.key.replace(/\/permission$/, '')
  const data = {
    ...{ key, tool: 'Bash', kind, category: 'action', input: { command: EVIL } },
    ...{ tool_call_id: 'call_1_0', parallel_group_id: 'g', idempotency_key: 'k' },
  }
  const kept = events.filter((event) => !['gate:open', 'run:park'].includes(event.type))
  return [...kept, { ...gate, type: 'tool:pre', data } as Event]
}

test.each(NAMED)(
  'E28 a call that a journal says has begun is not made (named store as a control: %s)',
  async (isNamed) => {
    const attack: Attack = {
      options: { ...ASK, model: commands('true') },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: asBegun('read'),
    }
    const { troupe, run_id } = await openCopy(attack, isNamed)
    if (!isNamed) return expectRefused(troupe.resume(run_id))
    const result = await (await troupe.resume(run_id)).result
    expect([result.status, done]).toEqual(['completed', [EVIL]])
  },
)

test.each(NAMED)('E28 a recorded verdict of hooks takes no effect (named store as a control: %s)', async (isNamed) => {
  const attack: Attack = {
    options: { ...ASK, model: commands(EVIL), hooks: [{ beforeTool: () => undefined }] },
    prepare: async (troupe) => (await start(troupe)).run_id,
  }
  await answerHere(attack, isNamed, { hooks: [{ beforeTool: () => ({ deny: 'never' }) }] }, 'allow')
  expect(done).toEqual(isNamed ? [EVIL] : [])
})

test.each(NAMED)(
  'E28 a recorded agent chooses no performer of this machine (named store as a control: %s)',
  async (isNamed) => {
    const external = scriptedPerformer({
      actions: [{ do: 'finish', result: { stop: 'completed', text: 'performed' } }],
    })
    const attack: Attack = {
      options: { ...ASK, model: commands(EVIL), performers: { external } },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: (events) =>
        changeSession(({ agent: named }) => ({ agent: { ...named, performer: 'external' } }))(
          events.slice(0, events.findIndex((event) => isEvent(event, 'session:open')) + 1),
        ),
    }
    const { troupe, run_id } = await openCopy(attack, isNamed)
    if (isNamed) await (await troupe.resume(run_id)).result
    else await expectRefused(troupe.resume(run_id))
    expect(external.turns.length).toBe(isNamed ? 1 : 0)
  },
)

const misleading = (events: Event[]) =>
  events.map((event) => {
    if (!isEvent(event, 'gate:open')) return event
    const shown = { permission: 'Bash(npm test)', input: { command: 'npm test' } }
    const detail = { ...(event.data.detail as object), ...shown }
    return { ...event, data: { ...event.data, question: 'May worker call Bash(npm test)?', detail } }
  })

test.each(['allow', 'always'].flatMap((answer) => NAMED.map((isNamed) => [answer, isNamed] as const)))(
  'E28 %s to a forged question does not allow the call that it hides (named store as a control: %s)',
  async (answer, isNamed) => {
    const attack: Attack = {
      options: { ...ASK, model: commands(EVIL, EVIL) },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: misleading,
    }
    await answerHere(attack, isNamed, {}, answer)
    expect(done.includes(EVIL)).toBe(isNamed)
  },
)

test.each(NAMED)(
  'E28 the result of a background session is not delivered by the pattern that a journal names (named store as a control: %s)',
  async (isNamed) => {
    const background = { name: 'task', input: { agent: 'helper', instruction: 'look', background: true } }
    const model = functionModel(({ session }) => {
      if (session.agent !== 'worker') return { text: `by ${session.agent}` }
      if (session.turn === 1) return { calls: [background] }
      return session.turn === 2 ? { calls: [{ name: 'ask_user', input: { question: 'Shall I?' } }] } : { text: 'done' }
    })
    const attack: Attack = {
      options: { ...ASK, agents: [agent('worker'), agent('helper'), agent('powerful')], model },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: changeSession(({ background: isBackground }) =>
        isBackground ? { collect_with: { tool: 'task', input: { agent: 'powerful', instruction: 'evil' } } } : {},
      ),
    }
    const answered = await answerHere(attack, isNamed)
    if (!answered) return
    const { troupe, run_id, result } = answered
    expect(result.status).toBe('completed')
    const agents = (await troupe.sessions({ run_id }).all()).map((session) => session.agent)
    expect(agents).toEqual(expect.arrayContaining(['helper', 'powerful']))
  },
)

test.each(NAMED)(
  'E28 checks that a pattern would run are not run for a recorded run (named store as a control: %s)',
  async (isNamed) => {
    requireSandbox()
    const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-checked-')))
    onTestFinished(() => rmSync(workspace, { recursive: true, force: true }))
    const checks = definePattern({
      ...{ name: 'checks', version: 1, description: 'runs a check', category: 'action' },
      ...{ input: z.strictObject({}), output: z.unknown() },
      async execute(context) {
        await context.ask('go', { question: 'Shall I?' })
        const check = { workspace, command: 'touch ran', timeout_ms: 10_000, max_output_chars: 100 }
        const output = await context.step('check', async (signal) =>
          (context.commands as CommandRunner).run(check, signal),
        )
        return { success: true as const, output }
      },
    })
    const attack: Attack = {
      options: { agents: [agent('worker')], patterns: [checks], workspace: { workspace }, model: commands() },
      prepare: async (troupe) => (await runToEnd(troupe, 'checks', {})).run_id,
    }
    await answerHere(attack, isNamed)
    expect(existsSync(join(workspace, 'ran'))).toBe(isNamed)
  },
)

test.each(NAMED)('E28 a fork makes no recorded approval valid (named store as a control: %s)', async (isNamed) => {
  const attack: Attack = {
    options: { ...ASK, model: commands(EVIL) },
    prepare: async (troupe) => (await start(troupe)).run_id,
    forge: withAnswer,
  }
  const { troupe, run_id } = await openCopy(attack, isNamed)
  const head = (await troupe.events(run_id).all()).length
  if (!isNamed) return expectRefused(troupe.fork(run_id, head))
  const fork = await troupe.fork(run_id, head)
  await fork.result
  expect(done).toEqual([EVIL])
  const seq = (await troupe.events(fork.run_id).all()).findIndex((event) => event.type === 'gate:answer') + 1
  await (await troupe.fork(fork.run_id, seq)).result
  expect(done).toEqual([EVIL, EVIL])
})

test.each(NAMED)(
  'E28 a fork of a run whose row claims fewer events makes no recorded approval valid (named store as a control: %s)',
  async (isNamed) => {
    const attack: Attack = {
      options: { ...ASK, model: commands(EVIL) },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: withAnswer,
      plant: (db) => db.exec('UPDATE runs SET head = 1'),
    }
    const { troupe, run_id } = await openCopy(attack, isNamed)
    const { length } = await troupe.events(run_id).all()
    if (!isNamed) return expectRefused(troupe.fork(run_id, length))
    await (await troupe.fork(run_id, length)).result
    expect(done).toEqual([EVIL])
  },
)

test.each(NAMED)('E28 a fork takes no recorded limits (named store as a control: %s)', async (isNamed) => {
  const attack: Attack = {
    options: { ...ASK, permissions: { ask: ['Bash(first)'] }, model: commands('first', 'b', 'c', 'd', 'e') },
    prepare: async (troupe) => (await start(troupe)).run_id,
    forge: changeStart({ limits: { ...DEFAULT_LIMITS, calls: null, usd: null, tokens: null, wall_ms: null } }),
  }
  const { troupe, run_id } = await openCopy(attack, isNamed, { limits: { calls: 3 } })
  const head = (await troupe.events(run_id).all()).length
  if (!isNamed) return expectRefused(troupe.fork(run_id, head))
  const { gates } = await (await troupe.fork(run_id, head)).result
  const { status } = await (await troupe.answer(gates[0]?.gate_id ?? '', 'allow')).result
  expect([status, done.length]).toEqual(['completed', 5])
})

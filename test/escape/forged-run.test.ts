import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { Event, TroupeOptions } from '../../src/index.ts'
import { createTroupe, definePattern, isEvent } from '../../src/index.ts'
import type { EventOf } from '../../src/kernel/event.ts'
import { DEFAULT_LIMITS } from '../../src/kernel/limits.ts'
import { scriptedPerformer } from '../../src/testing/scripted-performer.ts'
import { countEachTest } from '../support/attempt-count.ts'
import { requireSandbox } from '../support/require-program.ts'
import { agent, functionModel } from '../support/test-troupe.ts'
import type { Attack } from './foreign-copy.ts'
import {
  ASK,
  changeSession,
  changeStart,
  commands,
  done,
  EVIL,
  OWN,
  openCopy,
  start,
  useForeignCopies,
  withAnswer,
  withoutNeeds,
} from './foreign-copy.ts'

beforeEach(countEachTest('store'))

/* What else a forged journal could choose here: models, rules, calls in progress, verdicts of hooks, performers. */

const folder = useForeignCopies()

/** Asks a question first, so that the run waits. */
const askThen = (command: string) =>
  functionModel(({ session: { turn } }) => {
    if (turn === 1) return { calls: [{ name: 'ask_user', input: { question: 'Shall I?' } }] }
    return turn === 2 ? { calls: [{ name: 'Bash', input: { command } }] } : { text: 'done' }
  })

/** The answer to a question of the run, once it waits here. */
async function answerHere(attack: Attack, isOwn: boolean, here: TroupeOptions = {}, answer = 'yes') {
  const { troupe, run_id } = await openCopy(attack, isOwn, here)
  const [gate] = (await troupe.gates()).items
  const result = await (await troupe.answer(gate?.gate_id ?? '', answer)).result
  return { troupe, run_id, result }
}

const MODELS: Record<string, (model: string) => NonNullable<Attack['forge']>> = {
  'the run': (model) => changeStart({ model }),
  'a session': (model) => changeSession(() => ({ model })),
  "a session's agent": (model) => changeSession(({ agent: named }) => ({ model, agent: { ...named, model } })),
}

test.each(Object.keys(MODELS).flatMap((part) => OWN.map((isOwn) => [part, isOwn] as const)))(
  'E33 a recorded model of %s reads no script of this machine (own store as a control: %s)',
  async (part, isOwn) => {
    const script = join(folder(), 'script.json')
    writeFileSync(script, JSON.stringify({ rules: [{ reply: { text: 'read from the host' } }] }))
    const name = `scripted:${script}`
    const attack: Attack = {
      options: { ...ASK, agents: [agent('worker', { tools: ['ask_user'] })], model: askThen('true') },
      prepare: async (troupe) => (await start(troupe)).run_id,
      ...{ forge: MODELS[part]?.(name) ?? ((events) => events) },
    }
    const outcome = await answerHere(attack, isOwn).then(
      ({ result }) => JSON.stringify(result),
      (thrown: Error) => thrown.message,
    )
    if (isOwn) expect(outcome).toContain('read from the host')
    else expect(outcome).toMatch(/another installation recorded the model .*none of the configured models/)
    expect(outcome.includes('read from the host')).toBe(isOwn)
  },
)

const CONTINUED: Record<string, (script: string) => NonNullable<Attack['forge']>> = {
  model: (model) => changeSession(() => ({ model })),
  performer: () => changeSession(({ agent: named }) => ({ agent: { ...named, performer: 'external' } })),
}

test.each(Object.keys(CONTINUED).flatMap((part) => OWN.map((isOwn) => [part, isOwn] as const)))(
  'E33 E34 a session of another installation that a new run continues does not choose its %s (own store as a control: %s)',
  async (part, isOwn) => {
    const script = join(folder(), 'script.json')
    writeFileSync(script, JSON.stringify({ rules: [{ reply: { text: 'by the attacker' } }] }))
    const finish = { do: 'finish' as const, result: { stop: 'completed' as const, text: 'by the attacker' } }
    const attack: Attack = {
      options: { ...ASK, model: commands(), performers: { external: scriptedPerformer({ actions: [finish] }) } },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: CONTINUED[part]?.(`scripted:${script}`) ?? ((events) => events),
    }
    const { troupe, run_id } = await openCopy(attack, isOwn)
    const [session] = await troupe.sessions({ run_id }).all()
    const result = await troupe.run('task', { instruction: 'go on', session_id: session?.session_id ?? '' })
    const text = JSON.stringify(result)
    expect(text.includes('by the attacker')).toBe(isOwn)
    if (!isOwn) expect(text).toContain('another installation recorded')
  },
)

test('E33 control: the operator may pass the recorded model', async () => {
  const script = join(folder(), 'script.json')
  writeFileSync(script, JSON.stringify({ rules: [{ reply: { text: 'read from the host' } }] }))
  const model = `scripted:${script}`
  const attack: Attack = {
    options: { ...ASK, agents: [agent('worker', { tools: ['ask_user'] })], model: askThen('true') },
    prepare: async (troupe) => (await start(troupe)).run_id,
    forge: (events) => changeStart({ model })(withoutNeeds(events)),
  }
  const { result } = await answerHere(attack, false, { model })
  expect(result).toMatchObject({ error: null, output: { response: 'read from the host' } })
})

test.each(['answer', 'steer'] as const)(
  'E38 `%s` that cannot be used here stores nothing: it can be repeated',
  async (how) => {
    const script = join(folder(), 'script.json')
    writeFileSync(script, JSON.stringify({ rules: [{ reply: { text: 'done' } }] }))
    const model = `scripted:${script}`
    const team = { name: 'Pair', agents: [{ name: 'worker' }], after_work_behavior: 'return_to_user' as const }
    const attack: Attack = {
      options: { ...ASK, model: functionModel(() => ({ text: 'Shall I?' })) },
      prepare: async (troupe) => (await troupe.run('team', { team, message: 'go' })).run_id,
      forge: (events) => changeStart({ model })(withoutNeeds(events)),
    }
    const reply = { do: 'say' as const, text: 'yes' }
    const give = async ({ troupe, run_id }: Awaited<ReturnType<typeof openCopy>>) => {
      const [gate] = await troupe.gates({ run_id }).all()
      return how === 'steer' ? troupe.steer(run_id, reply) : troupe.answer(gate?.gate_id ?? '', reply)
    }
    const copy = await openCopy(attack, false)
    await expect(give(copy)).rejects.toMatchObject({ code: 'unknown_model' })
    expect(await copy.troupe.gates({ run_id: copy.run_id }).all()).toHaveLength(1)
    await copy.troupe.close()
    const again = await createTroupe({ ...attack.options, model, store: join(folder(), 'copy.db'), config: false })
    onTestFinished(() => again.close())
    const { status } = await (await give({ troupe: again, run_id: copy.run_id })).result
    expect(status).toBe('waiting')
    const events = await again.events(copy.run_id).all()
    expect(events.filter((event) => isEvent(event, 'gate:answer'))).toHaveLength(1)
  },
)

test.each(['ollama/llama3', 'compatible:http://127.0.0.1:9/v1', 'general,lmstudio/x'])(
  'E33 the recorded model %s reaches no provider that nobody set up',
  async (model) => {
    const attack: Attack = {
      options: { ...ASK, agents: [agent('worker', { tools: ['ask_user'] })], model: askThen('true') },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: changeStart({ model }),
    }
    await expect(answerHere(attack, false)).rejects.toMatchObject({ code: 'unknown_model' })
  },
)

test.each(OWN)('E28 recorded `allow` rules allow nothing (own store as a control: %s)', async (isOwn) => {
  const attack: Attack = {
    options: { ...ASK, permissions: { mode: 'ask' }, model: askThen(EVIL) },
    prepare: async (troupe) => (await start(troupe)).run_id,
    forge: changeStart({ permissions: { mode: 'ask', allow: ['Bash'] } }),
  }
  const { result } = await answerHere(attack, isOwn)
  expect(done).toEqual(isOwn ? [EVIL] : [])
  expect(result.gates.map(({ question }) => question)).toEqual(isOwn ? [] : [`May worker call Bash(${EVIL})?`])
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

test.each(OWN)('E34 a call that a journal says has begun is not made (own store as a control: %s)', async (isOwn) => {
  const attack: Attack = {
    options: { ...ASK, model: commands('true') },
    prepare: async (troupe) => (await start(troupe)).run_id,
    forge: asBegun('read'),
  }
  const { troupe, run_id } = await openCopy(attack, isOwn)
  const result = await (await troupe.resume(run_id)).result
  expect(done).toEqual(isOwn ? [EVIL] : [])
  expect(result.status).toBe('completed')
  const errors = (await troupe.events(run_id).all()).filter((event) => event.type === 'tool:error')
  expect(JSON.stringify(errors).includes('outcome_unknown')).toBe(!isOwn)
})

test.each(OWN)('E34 hooks judge a recorded call again (own store as a control: %s)', async (isOwn) => {
  const attack: Attack = {
    options: { ...ASK, model: commands(EVIL), hooks: [{ beforeTool: () => undefined }] },
    prepare: async (troupe) => (await start(troupe)).run_id,
  }
  await answerHere(attack, isOwn, { hooks: [{ beforeTool: () => ({ deny: 'never' }) }] }, 'allow')
  expect(done).toEqual(isOwn ? [EVIL] : [])
})

test.each(OWN)(
  'E34 a recorded agent chooses no performer of this machine (own store as a control: %s)',
  async (isOwn) => {
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
    const { troupe, run_id } = await openCopy(attack, isOwn)
    await (await troupe.resume(run_id)).result
    expect(external.turns.length).toBe(isOwn ? 1 : 0)
  },
)

const misleading = (events: Event[]) =>
  events.map((event) => {
    if (!isEvent(event, 'gate:open')) return event
    const shown = { permission: 'Bash(npm test)', input: { command: 'npm test' } }
    const detail = { ...(event.data.detail as object), ...shown }
    return { ...event, data: { ...event.data, question: 'May worker call Bash(npm test)?', detail } }
  })

test.each(['allow', 'always'].flatMap((answer) => OWN.map((isOwn) => [answer, isOwn] as const)))(
  'E36 %s to a forged question does not allow the call that it hides (own store as a control: %s)',
  async (answer, isOwn) => {
    const attack: Attack = {
      options: { ...ASK, model: commands(EVIL, EVIL) },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: misleading,
    }
    const { troupe, result } = await answerHere(attack, isOwn, {}, answer)
    expect(done.includes(EVIL)).toBe(isOwn)
    if (isOwn) return
    expect(result.gates.map(({ question }) => question)).toEqual([
      `May worker call Bash(${EVIL})? The question that was recorded in another installation did not show this call.`,
    ])
    await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'allow')).result
    expect(done).toEqual([EVIL])
  },
)

test.each(OWN)(
  'E34 the result of a background session is not delivered by the pattern that a journal names (own store as a control: %s)',
  async (isOwn) => {
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
    const { troupe, run_id, result } = await answerHere(attack, isOwn)
    expect(result.status).toBe('completed')
    const agents = (await troupe.sessions({ run_id }).all()).map((session) => session.agent)
    expect(agents).toContain('helper')
    expect(agents.includes('powerful')).toBe(isOwn)
  },
)

test.each(OWN)(
  'E34 checks that a pattern would run are not run for a recorded run (own store as a control: %s)',
  async (isOwn) => {
    requireSandbox()
    const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-checked-')))
    onTestFinished(() => rmSync(workspace, { recursive: true, force: true }))
    const checks = definePattern({
      ...{ name: 'checks', version: 1, description: 'runs a check', category: 'action' },
      ...{ input: z.strictObject({}), output: z.unknown() },
      async execute(context) {
        await context.ask('go', { question: 'Shall I?' })
        const check = { workspace, command: 'touch ran', timeout_ms: 10_000, max_output_chars: 100 }
        const output = await context.step('check', async (signal) => context.commands?.run(check, signal))
        return { success: true as const, output }
      },
    })
    const attack: Attack = {
      options: { agents: [agent('worker')], patterns: [checks], workspace: { workspace }, model: commands() },
      prepare: async (troupe) => (await troupe.run('checks', {})).run_id,
    }
    const { result } = await answerHere(attack, isOwn)
    expect(existsSync(join(workspace, 'ran'))).toBe(isOwn)
    expect(JSON.stringify(result).includes('which is not opened')).toBe(!isOwn)
  },
)

test.each(OWN)(
  'E35 a fork, and a fork of it, make no recorded approval valid (own store as a control: %s)',
  async (isOwn) => {
    const attack: Attack = {
      options: { ...ASK, model: commands(EVIL) },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: withAnswer,
    }
    const { troupe, run_id } = await openCopy(attack, isOwn)
    const head = (await troupe.events(run_id).all()).length
    const fork = await troupe.fork(run_id, head)
    const result = await fork.result
    expect(done).toEqual(isOwn ? [EVIL] : [])
    if (isOwn) return
    expect(result.gates.map(({ question }) => question)).toEqual([
      `May worker call Bash(${EVIL})? The recorded approval was not given in this installation.`,
    ])
    const seq = (await troupe.events(fork.run_id).all()).findIndex((event) => event.type === 'gate:answer') + 1
    const second = await (await troupe.fork(fork.run_id, seq)).result
    expect([second.status, done]).toEqual(['waiting', []])
    await (await troupe.answer(second.gates[0]?.gate_id ?? '', 'allow')).result
    expect(done).toEqual([EVIL])
  },
)

test.each(OWN)(
  'E39 a fork of a run whose row claims fewer events makes no recorded approval valid (own store as a control: %s)',
  async (isOwn) => {
    const attack: Attack = {
      options: { ...ASK, model: commands(EVIL) },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: withAnswer,
      plant: (db) => db.exec('UPDATE runs SET head = 1'),
    }
    const { troupe, run_id } = await openCopy(attack, isOwn)
    const { length } = await troupe.events(run_id).all()
    await (await troupe.fork(run_id, length)).result
    expect(done).toEqual(isOwn ? [EVIL] : [])
  },
)

test.each(OWN)(
  'E35 a fork has the stricter of the recorded and the present limits (own store as a control: %s)',
  async (isOwn) => {
    const attack: Attack = {
      options: { ...ASK, permissions: { ask: ['Bash(first)'] }, model: commands('first', 'b', 'c', 'd', 'e') },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: changeStart({ limits: { ...DEFAULT_LIMITS, calls: null, usd: null, tokens: null, wall_ms: null } }),
    }
    const { troupe, run_id } = await openCopy(attack, isOwn, { limits: { calls: 3 } })
    const head = (await troupe.events(run_id).all()).length
    const { gates } = await (await troupe.fork(run_id, head)).result
    const { status } = await (await troupe.answer(gates[0]?.gate_id ?? '', 'allow')).result
    expect([status, done.length]).toEqual(isOwn ? ['completed', 5] : ['failed', 3])
  },
)

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import type { Event } from '../../src/index.ts'
import { isEvent } from '../../src/index.ts'
import { scriptedPerformer } from '../../src/testing/scripted-performer.ts'
import { countEachTest } from '../support/attempt-count.ts'
import { agent, functionModel, runToEnd } from '../support/test-troupe.ts'
import type { Attack } from './foreign-copy.ts'
import {
  ASK,
  changeSession,
  changeStart,
  commands,
  done,
  EVIL,
  expectRefused,
  NAMED,
  openCopy,
  start,
  useForeignCopies,
  withoutNeeds,
} from './foreign-copy.ts'

beforeEach(countEachTest('store'))

/* Agents that a forged journal describes: they must not pass for agents of the operator, neither in their run nor in one that continues it. */

const folder = useForeignCopies()

type Agents = Record<string, (own: object) => (events: Event[]) => Event[]>

const STRANGER = { name: 'stranger', origin: { by: 'user', path: '/x/stranger.md' } }

/** How a journal gives an agent of its own a performer or a server. */
const AGENTS: Agents = {
  'an agent of the roster': (own) => changeSession((data) => ({ agent: { ...data.agent, ...own } })),
  'an agent that is not here, with the origin of a file': (own) =>
    changeSession((data) => ({ agent: { ...data.agent, ...STRANGER, ...own } })),
  'the changes of a fork': (own) => (events) => {
    const changes = { agents: { worker: own } }
    const forked_from = { run_id: 'r_0', seq: 1, inherited: 0, changes }
    return changeStart({ forked_from })(changeSession((data) => ({ agent: { ...data.agent, ...own } }))(events))
  },
}
const EACH_AGENT = Object.keys(AGENTS).flatMap((how) => NAMED.map((isNamed) => [how, isNamed] as const))

/** The run was interrupted when its session was opened. */
const interrupted = (events: Event[]) =>
  withoutNeeds(events).slice(0, events.findIndex((event) => isEvent(event, 'session:open')) + 1)

const forgeAgent = (how: string, own: object) => (events: Event[]) => AGENTS[how]?.(own)(interrupted(events)) ?? events

const performer = () =>
  scriptedPerformer({ actions: [{ do: 'finish', result: { stop: 'completed', text: 'performed' } }] })

test.each(EACH_AGENT)(
  'E28 a performer of this machine is not chosen by %s in a journal (named store as a control: %s)',
  async (how, isNamed) => {
    const external = performer()
    const attack: Attack = {
      options: { ...ASK, model: commands(EVIL), performers: { external } },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: forgeAgent(how, { performer: 'external' }),
    }
    const { troupe, run_id } = await openCopy(attack, isNamed)
    if (isNamed) await (await troupe.resume(run_id)).result
    else await expectRefused(troupe.resume(run_id))
    expect(external.turns.length).toBe(isNamed ? 1 : 0)
  },
)

test.each(EACH_AGENT)(
  'E28 an MCP server is not started for %s in a journal (named store as a control: %s)',
  async (how, isNamed) => {
    const started = join(folder(), 'started')
    const program = `require('fs').writeFileSync(${JSON.stringify(started)}, '')`
    const attack: Attack = {
      options: {
        ...ASK,
        model: commands(EVIL),
        mcp: { unconfined: true, servers: { mine: { command: process.execPath, args: ['-e', ''] } } },
      },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: forgeAgent(how, { mcp_servers: { evil: { command: process.execPath, args: ['-e', program] } } }),
    }
    const { troupe, run_id } = await openCopy(attack, isNamed)
    if (isNamed) await (await troupe.resume(run_id)).result
    else await expectRefused(troupe.resume(run_id))
    expect(existsSync(started)).toBe(isNamed)
  },
)

test.each(NAMED)(
  'E28 no run continues a session whose agent passes for one of the operator, nor is it retried (named store as a control: %s)',
  async (isNamed) => {
    const external = performer()
    const attack: Attack = {
      options: { ...ASK, model: commands(), performers: { external } },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: changeSession((data) => ({ agent: { ...data.agent, ...STRANGER, performer: 'external' } })),
    }
    const { troupe, run_id } = await openCopy(attack, isNamed)
    const [session] = await troupe.sessions({ run_id }).all()
    const running = runToEnd(troupe, 'task', { instruction: 'go on', session_id: session?.session_id ?? '' })
    if (!isNamed) await expectRefused(running)
    else {
      const first = await running
      if (first.status === 'failed') await (await troupe.resume(first.run_id)).result
    }
    expect(external.turns.length).toBe(isNamed ? 1 : 0)
  },
)

/** What a session recorded, and the sign that it was used in a run that continues the session. */
const RECORDED: Record<string, (script: string) => { forge: NonNullable<Attack['forge']>; sign: string }> = {
  model: (script) => ({ forge: changeSession(() => ({ model: `scripted:${script}` })), sign: 'read from the host' }),
  performer: () => ({
    forge: changeSession((data) => ({ agent: { ...data.agent, performer: 'external' } })),
    sign: 'performed',
  }),
  folder: () => ({ forge: changeSession(() => ({ workspace: folder() })), sign: 'spoken' }),
}

test.each(Object.keys(RECORDED).flatMap((part) => NAMED.map((isNamed) => [part, isNamed] as const)))(
  'E28 a session chooses no %s in a new run (named store as a control: %s)',
  async (part, isNamed) => {
    const script = join(folder(), 'script.json')
    writeFileSync(script, JSON.stringify({ rules: [{ reply: { text: 'read from the host' } }] }))
    const { forge, sign } = RECORDED[part]?.(script) ?? { forge: (events: Event[]) => events, sign: '' }
    const finish = { do: 'finish' as const, result: { stop: 'completed' as const, text: 'performed' } }
    const attack: Attack = {
      options: {
        ...ASK,
        model: functionModel(() => ({ text: 'spoken' })),
        performers: { external: scriptedPerformer({ actions: [finish, finish] }) },
      },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: (events) => forge(interrupted(events)),
    }
    const { troupe, run_id } = await openCopy(attack, isNamed)
    if (isNamed) await (await troupe.resume(run_id)).result
    else await expectRefused(troupe.resume(run_id))
    const [session] = await troupe.sessions({ run_id }).all()
    const running = runToEnd(troupe, 'task', { instruction: 'go on', session_id: session?.session_id ?? '' })
    if (!isNamed) return expectRefused(running)
    const result = await running
    expect([result.status, JSON.stringify(result)]).toEqual(['completed', expect.stringContaining(sign)])
  },
)

/** Asks in the first turn, makes the call in the first turn of the run that continues the session. */
const callWhenContinued = functionModel(({ session: { turn } }) => {
  if (turn === 1) return { calls: [{ name: 'ask_user', input: { question: 'Shall I?' } }] }
  return turn === 3 ? { calls: [{ name: 'Bash', input: { command: EVIL } }] } : { text: 'done' }
})

const CONTINUED: Record<string, 'resume' | 'fork'> = { resumed: 'resume', forked: 'fork' }

test.each(Object.keys(CONTINUED).flatMap((how) => NAMED.map((isNamed) => [how, isNamed] as const)))(
  'E28 the tools that a session lists are no permission in a new run after its own run was %s (named store as a control: %s)',
  async (how, isNamed) => {
    const attack: Attack = {
      options: {
        ...ASK,
        ...{ agents: [agent('worker', { tools: ['Bash', 'ask_user'] })], permissions: { mode: 'ask' } },
        model: callWhenContinued,
      },
      prepare: async (troupe) => (await start(troupe)).run_id,
      forge: (events) => events,
    }
    const { troupe, run_id } = await openCopy(attack, isNamed)
    // The fork opens the session itself.
    const continueSession = async (waiting: string) => {
      const [session] = await troupe.sessions({ run_id: waiting }).all()
      return runToEnd(troupe, 'task', { instruction: 'go on', session_id: session?.session_id ?? '' })
    }
    if (!isNamed) {
      if (CONTINUED[how] === 'fork') await expectRefused(troupe.fork(run_id, 1))
      return expectRefused(continueSession(run_id))
    }
    const waiting = CONTINUED[how] === 'fork' ? await troupe.fork(run_id, 1) : { run_id }
    if ('result' in waiting) await waiting.result
    const [gate] = await troupe.gates({ run_id: waiting.run_id }).all()
    await (await troupe.answer(gate?.gate_id ?? '', 'yes')).result
    const result = await continueSession(waiting.run_id)
    expect([result.status, done]).toEqual(['completed', [EVIL]])
  },
)

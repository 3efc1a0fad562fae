import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import type { Troupe } from '../../src/index.ts'
import { isEvent } from '../../src/index.ts'
import { teamSchema } from '../../src/judgement/team/team-schema.ts'
import { DEFAULT_LIMITS } from '../../src/kernel/limits.ts'
import { Conversation } from '../../src/surfaces/cli/chat/conversation.ts'
import { loadRunTeam } from '../../src/surfaces/cli/commands/steer-command.ts'
import { countEachTest } from '../support/attempt-count.ts'
import { functionModel } from '../support/test-troupe.ts'
import type { Attack } from './foreign-copy.ts'
import { ASK, changeStart, done, EVIL, expectRefused, NAMED, openCopy, useForeignCopies } from './foreign-copy.ts'

beforeEach(countEachTest('store'))

/* A conversation that came with a repository has ended: the next message would start a run of this installation, with all its rights. */

const folder = useForeignCopies()

const TEAM = teamSchema.parse({ name: 'Planted', agents: [{ name: 'helper', tools: ['Bash'] }] })
const NO_LIMITS = { ...DEFAULT_LIMITS, calls: null, usd: null, tokens: null, wall_ms: null }

/** A team that ended, whose journal names a script of the repository as the model. */
function plantedTeam(): Attack {
  const script = join(folder(), 'docs.json')
  const call = { name: 'Bash', input: { command: EVIL } }
  const rules = [{ when: { turn: 1 }, reply: { text: 'sure', toolCalls: [call] } }, { reply: { text: 'done' } }]
  writeFileSync(script, JSON.stringify({ rules }))
  return {
    options: { ...ASK, permissions: { mode: 'ask' }, model: functionModel(() => ({ text: 'Hello.' })) },
    prepare: async (troupe) => (await troupe.run('team', { team: TEAM, message: 'hello' })).run_id,
    forge: changeStart({ model: `scripted:${script}`, limits: NO_LIMITS }),
  }
}

async function resumeChat(troupe: Troupe, run_id: string): Promise<Conversation> {
  const row = await troupe.getRun(run_id)
  const ignore = () => {}
  const conversation = new Conversation(troupe, {
    ...{ team: await loadRunTeam(troupe, row), variables: {}, model: undefined, limits: {} },
    ...{ onEvent: ignore, onDelta: ignore, onActivity: ignore, onIdle: ignore },
  })
  await conversation.attach(row)
  return conversation
}

/** The end of a chat's next message. */
async function send(chat: Conversation): Promise<string> {
  return chat.start('hello').then(
    () => chat.whenIdle().then(() => 'started'),
    ({ code }) => code,
  )
}

test.each(NAMED)(
  'E28 the next message in a chat starts no run with a recorded team (named store as a control: %s)',
  async (isNamed) => {
    const { troupe, run_id } = await openCopy(plantedTeam(), isNamed)
    const chat = await resumeChat(troupe, run_id)
    const outcome = await send(chat)
    expect([outcome, done]).toEqual(isNamed ? ['started', [EVIL]] : ['store_not_yours', []])
    expect((await troupe.runs().all()).length).toBe(isNamed ? 2 : 1)
  },
)

test.each(NAMED)(
  'E28 a team of the operator takes no model, limits and messages of the recorded run (named store as a control: %s)',
  async (isNamed) => {
    const { troupe, run_id } = await openCopy(plantedTeam(), isNamed)
    const chat = await resumeChat(troupe, run_id)
    chat.clear()
    chat.context.team = teamSchema.parse({ name: 'Mine', agents: [{ name: 'mine' }] })
    expect(await send(chat)).toBe(isNamed ? 'started' : 'store_not_yours')
    if (!isNamed) return
    const [first] = await troupe.events(chat.run_id ?? '').all()
    const { model, limits } = isEvent(first, 'run:start') ? first.data : {}
    expect([model !== undefined, limits?.calls]).toEqual([true, null])
  },
)

test.each(NAMED)(
  'E28 a fork of a recorded run starts no run with its team (named store as a control: %s)',
  async (isNamed) => {
    const { troupe, run_id } = await openCopy({ ...plantedTeam(), forge: (events) => events }, isNamed)
    if (!isNamed) return expectRefused(troupe.fork(run_id, 1))
    const fork = await troupe.fork(run_id, 1)
    await fork.result
    expect(await send(await resumeChat(troupe, fork.run_id))).toBe('started')
  },
)

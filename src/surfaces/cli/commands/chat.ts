import { TroupeError } from '../../../errors.ts'
import type { RunRow, Troupe } from '../../../index.ts'
import type { Team } from '../../../judgement/team/definition.ts'
import type { Console } from '../chat/console.ts'
import { TypingConsole } from '../chat/console.ts'
import { Conversation } from '../chat/conversation.ts'
import { keepUp } from '../chat/elsewhere.ts'
import type { Freshness } from '../chat/freshness.ts'
import { keepFresh } from '../chat/freshness.ts'
import { linesIn, pipeConsole } from '../chat/pipe.ts'
import { greeting, recap } from '../chat/recap.ts'
import { Talk } from '../chat/talk.ts'
import type { Cli } from '../cli.ts'
import { EXIT } from '../exit.ts'
import { findRun } from '../find.ts'
import { limitsFrom } from '../limits.ts'
import { modelName, openTroupe, storePath } from '../open.ts'
import { typable } from '../render/line.ts'
import { sameModel } from '../same-model.ts'
import { assignedIn, teamOfOne, teamToRun } from '../team-source.ts'
import { teamOf } from './steer.ts'

type ChatOptions = { set?: string[]; resume?: string; agent?: string; retry?: boolean }

/** Talks with a team until the person leaves; the run stays, and can be taken up again. */
export async function chat(given: Cli<ChatOptions>, file: string | undefined): Promise<number> {
  // A place to type would be drawn into words that go elsewhere.
  const cli = given.terminal.read ? given : { ...given, terminal: { ...given.terminal, live: false } }
  const { agent, resume, set = [] } = cli.options
  if (file !== undefined && agent !== undefined) throw unclear('a team file and --agent are both given')
  if (file === undefined && agent === undefined && resume === undefined) throw unclear('nobody to talk with is named')
  const limits = await limitsFrom(cli)
  const named = async () =>
    file !== undefined ? teamToRun(cli, file) : agent === undefined ? undefined : teamOfOne(cli, agent)
  const team = await named()
  const troupe = await openTroupe(cli, resume === undefined ? 'new' : 'existing')
  const place: Place = { cli, file, named, troupe }
  try {
    const row = resume === undefined ? undefined : await rowToTake(cli, troupe, resume)
    if (row && ['waiting', 'pending', 'running'].includes(row.status)) await sameModel(cli, troupe, row.run_id)
    const known = row ? await teamOf(troupe, row) : team
    if (!known) throw unclear('nobody to talk with is named')
    const variables = await assignedIn(known, set)
    const site = { team: known, variables, model: modelName(cli), limits, ...told(() => talk) }
    const conversation = new Conversation(troupe, site)
    const talk: Talk = new Talk(cli, {
      conversation,
      refresh: () => refresh(place, talk),
      renew: () => renew(place, talk),
    })
    return await talking(place, talk, row)
  } finally {
    // With a place to type still open the process would wait for keys.
    place.console?.close()
    place.fresh?.close()
    await place.troupe.close()
    place.goodbye?.()
  }
}

interface Place {
  cli: Cli<ChatOptions>
  file: string | undefined
  /** The team as it is written now, where one was named. */
  named(): Promise<Team | undefined>
  troupe: Troupe
  console?: Console
  fresh?: Freshness
  goodbye?: () => void
}

/** The conversation is there before the one who tells of it. */
function told(talk: () => Talk) {
  return {
    tell: (happening: Parameters<Talk['tell']>[0]) => talk().tell(happening),
    words: (delta: Parameters<Talk['words']>[0]) => talk().words(delta),
    stirs: () => talk().stirs(),
    rests: () => talk().rests(),
  }
}

async function talking(place: Place, talk: Talk, row: RunRow | undefined): Promise<number> {
  const { cli, file } = place
  const { conversation } = talk
  const { terminal, options } = cli
  const typing = terminal.interactive && options.json !== true
  const open = () =>
    TypingConsole.open(terminal, {
      line: (text) => void talk.line(text),
      interrupt: () => talk.interrupt(),
      end: () => talk.leave(),
      complete: (text) => talk.complete(text),
    })
  const greets = !row && !options.quiet && !options.json
  // Before anybody can type: what is typed early would stand above it.
  if (greets) for (const text of greeting(conversation.site.team, terminal.err)) terminal.note(text)
  talk.console = typing ? await open() : pipeConsole(terminal)
  place.console = talk.console
  const stop = onSignals(cli, talk, typing && !terminal.live)
  place.fresh = await keepFresh(cli, file, {
    agents(changed, gone) {
      if (changed.length > 0) talk.note(`${changed.join(', ')} changed: as they are now from your next message on`)
      if (gone.length > 0) talk.note(`${gone.join(', ')}: the file is gone; put it back, or /new with another team`)
    },
    problem: (message) => talk.note(`the agents stay as they were: ${message}`),
    team: () => talk.note(`${file} has changed; /new begins a conversation with it`),
  })
  if (row) await takeUp(place, talk, row)
  if (!typing) void drive(talk)
  const stopLooking = keepUp(conversation)
  await talk.left
  stopLooking()
  talk.console.close()
  if (conversation.busy && !options.json)
    terminal.note('leaving: what is in flight may finish; Ctrl-C again stops at once')
  const code = stop() ?? (talk.interrupted ? EXIT.interrupted : talk.code)
  place.goodbye = () => goodbye(cli, talk)
  return code
}

async function takeUp({ cli }: Place, talk: Talk, row: RunRow): Promise<void> {
  const { conversation } = talk
  const asked = modelName(cli)
  recap(talk, cli, await conversation.take(row, cli.options.retry === true))
  for (const [name, value] of conversation.open ? Object.entries(conversation.site.variables) : []) {
    await conversation.steer({ do: 'set', name, value })
  }
  const { status } = conversation.result ?? {}
  if (status === 'failed' && asked !== undefined && cli.options.model) {
    talk.note(`/retry asks the model of that run; your next message starts one with ${asked}`)
  }
}

/** In a pipe a line is taken when the team has answered the one before it. */
async function drive(talk: Talk): Promise<void> {
  // Whoever types into a pipe may leave it open after /quit.
  const leaving = new AbortController()
  void talk.left.then(() => leaving.abort())
  for await (const text of linesIn(leaving.signal)) {
    await talk.conversation.rest()
    await talk.line(text)
  }
  await talk.conversation.rest()
  talk.leave()
}

/** Signals of others, and of a terminal that does its own editing. The second one does not wait. */
function onSignals(cli: Cli, talk: Talk, asKey: boolean): () => number | undefined {
  let code: number | undefined
  const asked = (signal: 'SIGINT' | 'SIGTERM') => {
    if (signal === 'SIGINT' && asKey && !talk.gone) {
      talk.interrupt()
      return
    }
    if (talk.gone) {
      goodbye(cli, talk)
      process.exit(code ?? EXIT.interrupted)
    }
    code = signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated
    talk.leave()
  }
  process.on('SIGINT', () => asked('SIGINT'))
  process.on('SIGTERM', () => asked('SIGTERM'))
  return () => code
}

async function rowToTake(cli: Cli, troupe: Troupe, wanted: string): Promise<RunRow> {
  const row = await findRun(cli, troupe, wanted)
  if (!troupe.isUnderWay(row)) return row
  throw new TroupeError('run_busy', `another process works on ${row.run_id}`, {
    hint: `follow it with: troupe watch ${row.run_id}; speak to it with: troupe team say ${row.run_id} TEXT`,
  })
}

/** Agents that changed on disk are used from now on: the run stands in the store, and another troupe takes it up. */
async function refresh(place: Place, talk: Talk): Promise<void> {
  const { conversation } = talk
  if (conversation.busy || storePath(place.cli) === 'memory') return
  if ((place.fresh?.changedAgents() ?? []).length === 0) return
  // What is said while it opens would be written where the person types.
  const terminal = { ...place.cli.terminal, note: (text: string) => talk.note(text) }
  const next = await openTroupe({ ...place.cli, terminal }, 'existing')
  await place.troupe.close()
  place.troupe = next
  conversation.troupe = next
}

async function renew(place: Place, talk: Talk): Promise<void> {
  const { conversation } = talk
  if (conversation.busy) {
    throw new TroupeError('invalid_input', 'agents are at work', { hint: '/pause first, or wait' })
  }
  const team = await place.named()
  const { run_id, open } = conversation
  if (open && keeps(place.cli))
    talk.note(`what was said stays: troupe chat --resume ${run_id}; /end would have ended it`)
  conversation.clear()
  if (team) conversation.site.team = team
  talk.note('a new conversation')
}

/** What is kept in memory is gone with the process. */
function keeps(cli: Cli): boolean {
  return storePath(cli) !== 'memory'
}

function goodbye(cli: Cli, { conversation }: Talk): void {
  const { terminal, options } = cli
  const { run_id, questions } = conversation
  // Whoever wants no progress still has to know what waits for them.
  const silent = options.quiet && questions.every(({ kind }) => kind === 'reply')
  if (run_id === undefined || !keeps(cli) || options.json || silent) return
  terminal.lastWords(typable(terminal.err, `come back with: troupe chat --resume ${run_id}`))
}

function unclear(message: string): TroupeError {
  return new TroupeError('invalid_input', message, {
    hint: 'troupe chat TEAM.yaml, troupe chat --agent NAME, or troupe chat --resume RUN',
  })
}

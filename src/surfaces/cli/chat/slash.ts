import { TroupeError, unknownName } from '../../../errors.ts'
import { graphOf } from '../../../judgement/team/graph.ts'
import type { SteerAction } from '../../../kernel/steer.ts'
import type { Look } from '../render/line.ts'
import { line } from '../render/line.ts'
import { explanationLines } from '../render/team-explain.ts'
import { ASCII, DRAWN, graphLines } from '../render/team-graph.ts'
import { harmless, oneLine, sized, wrap } from '../render/width.ts'
import { assignedIn } from '../team-source.ts'
import type { Conversation } from './conversation.ts'

/** What commands of a conversation work with. */
export interface Talking {
  readonly conversation: Conversation
  readonly look: Look
  /** Lines for people, or one object for programs. */
  show(type: string, data: object, lines: readonly string[]): void
  note(text: string): void
  /** Takes up what has changed on disk, before work goes on. */
  refresh(): Promise<void>
  /** Begins anew, with the team as its file says it now. */
  renew(): Promise<void>
  leave(): void
}

interface Slash {
  takes?: string
  about: string
  work(talking: Talking, rest: string): void | Promise<void>
}

export const COMMANDS: Readonly<Record<string, Slash>> = {
  help: { about: 'this list', work: help },
  who: { about: 'who is in the team, and who has spoken', work: who },
  vars: { about: 'the variables and their values', work: vars },
  set: { takes: 'NAME=VALUE', about: 'give a variable another value', work: set },
  next: { takes: 'AGENT', about: 'choose who goes on', work: (to, agent) => steer(to, { do: 'override', agent }) },
  pause: { about: 'stop before the next turn', work: (to) => steer(to, { do: 'pause' }) },
  step: { about: 'go on for one turn, then stop again', work: (to) => steer(to, { do: 'step' }) },
  continue: { about: 'go on', work: (to) => steer(to, { do: 'continue' }) },
  why: { about: 'why the work went where it last went', work: why },
  graph: { about: 'who hands to whom', work: graph },
  artifacts: { takes: '[NAME]', about: 'what was written; with a name, its newest version', work: artifacts },
  new: { about: 'begin anew, with the team file as it is now', work: (to) => to.renew() },
  retry: { about: 'try again what failed', work: retry },
  end: { about: 'end the team; what was said stays', work: end },
  quit: { about: 'leave; the conversation stays', work: (to) => to.leave() },
}

/** Does what a line that begins with / asks for. */
export async function obey(talking: Talking, text: string): Promise<void> {
  const [, word = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? []
  const names = Object.keys(COMMANDS)
  const slash = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined
  if (!slash)
    throw unknownName(
      'invalid_input',
      'command',
      `/${word}`,
      names.map((name) => `/${name}`),
    )
  if (slash.takes && !slash.takes.startsWith('[') && rest.trim() === '') {
    throw new TroupeError('invalid_input', `/${word} needs ${slash.takes}`, { hint: '/help says more' })
  }
  await slash.work(talking, rest.trim())
}

function help(talking: Talking): void {
  const { look } = talking
  const rows = Object.entries(COMMANDS).map(([name, { takes = '', about }]) => ({ name, takes, about }))
  const lines = rows.flatMap(({ name, takes, about }) => {
    const [first = '', ...rest] = wrap(sized(`  /${`${name} ${takes}`.trim()}`, 20) + about, look.width, 20)
    return [look.paint('bold', first.slice(0, 20)) + first.slice(20), ...rest]
  })
  talking.show('help', { commands: rows }, [
    ...lines,
    ...wrap(
      '  Everything else is said to the team: it answers what is asked, or is read before the next turn.',
      look.width,
      2,
    ),
  ])
}

function who(talking: Talking): void {
  const { conversation, look } = talking
  const { team } = conversation.site
  const { story, spoke } = conversation.transcript
  // Members of a group are on no route, and speak.
  const turns = (name: string) =>
    Math.max(story.team.route.filter((each) => each === name).length, spoke.get(name) ?? 0)
  const speaking = conversation.busy ? story.team.route.at(-1) : undefined
  const places = (team.form?.roles ?? []).map(({ name, role }) => ({ name, kind: 'agent', role }))
  const groups = team.groups.map(({ name, kind, members }) => ({ name, kind, role: members.join(', ') }))
  const members = [...team.agents, ...places, ...groups].map(({ name, kind, role = '' }) => {
    return { name, kind, role, turns: turns(name), speaking: name === speaking }
  })
  const widest = Math.min(24, Math.max(...members.map(({ name }) => name.length)))
  const lines = members.map(({ name, kind, role, turns: count, speaking: now }) => {
    const facts = [...(kind === 'agent' ? [] : [kind === 'human' ? 'a person' : kind]), role, `${count}×`]
    const words = facts.filter((fact) => fact !== '').join(' · ')
    return line(look, [
      ['cyan', now ? '● ' : '  '],
      ['bold', sized(name, widest)],
      ['dim', `  ${oneLine(words)}`],
    ])
  })
  talking.show('who', { members }, lines)
}

function vars(talking: Talking): void {
  const { conversation, look } = talking
  const { transcript, site, run_id } = conversation
  const variables = run_id === undefined ? { ...site.team.context_variables, ...site.variables } : transcript.variables
  const rows = Object.entries(variables)
  const lines = rows.map(([name, value]) => line(look, ['  ', ['bold', name], ` = ${oneLine(JSON.stringify(value))}`]))
  talking.show('vars', { variables }, rows.length > 0 ? lines : ['  the team has no variables'])
}

async function set(talking: Talking, pair: string): Promise<void> {
  const { conversation } = talking
  if (!/^[^=]+=/.test(pair))
    throw new TroupeError('invalid_input', '/set needs NAME=VALUE', { hint: '/vars lists them' })
  const values = await assignedIn(conversation.site.team, [pair])
  if (!conversation.open) {
    Object.assign(conversation.site.variables, values)
    talking.note('noted for the next conversation')
    return
  }
  for (const [name, value] of Object.entries(values)) await steer(talking, { do: 'set', name, value })
}

async function steer(talking: Talking, action: SteerAction): Promise<void> {
  const { conversation } = talking
  if (!conversation.open) {
    throw new TroupeError('invalid_input', 'no conversation is under way', { hint: 'say something first' })
  }
  const atWork = conversation.busy || conversation.elsewhere
  if (!atWork) await talking.refresh()
  if (await conversation.steer(action)) return
  const onlyReply = conversation.questions.every(({ kind }) => kind === 'reply')
  const when = onlyReply ? 'with your next message' : 'when the team goes on'
  talking.note(`noted: it is taken ${atWork ? 'before the next turn' : when}`)
}

function why(talking: Talking): void {
  const { conversation, look } = talking
  const handoffs = conversation.transcript.handoffs.map(({ from, to, by, handoff_reason: reason, explanation }) => {
    return { from, to, by, reason, rules: explanation.rules }
  })
  const lines = handoffs.flatMap(({ from, to, by, reason, rules }, index) => [
    ...(index === 0 ? [] : ['']),
    line(look, [['bold', `${oneLine(from)} → ${oneLine(to ?? 'nobody')}`]]),
    ...explanationLines({ decision: { to, by }, rules, reason, open: [] }, look),
  ])
  talking.show('why', { handoffs }, lines.length > 0 ? lines : ['  nobody has handed over yet'])
}

function graph(talking: Talking): void {
  const { conversation, look } = talking
  const drawn = graphOf(conversation.site.team)
  talking.show('graph', { graph: drawn }, graphLines(drawn, look, look.ascii ? ASCII : DRAWN))
}

async function artifacts(talking: Talking, name: string): Promise<void> {
  const { conversation, look } = talking
  const { artifacts: written } = conversation.transcript
  if (name !== '') {
    const names = [...new Set(written.map((each) => each.name))]
    if (!names.includes(name)) throw unknownName('invalid_input', 'artifact', name, names)
    const found = await conversation.troupe.store.artifact(conversation.run_id ?? '', name)
    talking.show('artifact', { name, version: found?.version, content: found?.content }, [
      harmless(found?.content ?? ''),
    ])
    return
  }
  const rows = written.map(({ name: each, version, by }) => ({ artifact: `${each}@${version}`, by }))
  const lines = rows.map(({ artifact, by }) => line(look, ['  ', ['bold', artifact], ['dim', `  by ${oneLine(by)}`]]))
  talking.show('artifacts', { artifacts: rows }, rows.length > 0 ? lines : ['  nothing was written'])
}

async function retry(talking: Talking): Promise<void> {
  const { conversation } = talking
  const { status } = conversation.result ?? {}
  if (conversation.elsewhere) {
    throw new TroupeError('run_busy', 'another process works on it', { hint: 'wait, or /end' })
  }
  if (status !== 'failed' && status !== 'pending' && status !== 'running') {
    throw new TroupeError('invalid_input', 'nothing has failed', { hint: 'say something to go on' })
  }
  await talking.refresh()
  await conversation.retry()
}

async function end(talking: Talking): Promise<void> {
  const { conversation } = talking
  if (!conversation.open) {
    throw new TroupeError('invalid_input', 'no team is at work or waits', { hint: '/quit leaves' })
  }
  await conversation.end()
}

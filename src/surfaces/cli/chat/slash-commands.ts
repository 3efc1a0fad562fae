import { TroupeError, unknownNameError } from '../../../errors.ts'
import { buildTeamGraph } from '../../../judgement/team/graph.ts'
import type { SteerAction } from '../../../kernel/steer-action.ts'
import { parseTeamVariables } from '../load-team.ts'
import { explanationLines } from '../render/explanation-lines.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import { renderLine } from '../render/styled-line.ts'
import { ASCII_SYMBOLS, teamGraphLines, UNICODE_SYMBOLS } from '../render/team-graph-lines.ts'
import { padToWidth, stripControlCharacters, toTerminalLine, wrapText } from '../render/text-width.ts'
import type { Conversation } from './conversation.ts'

/** What commands of a conversation work with. */
export interface SlashContext {
  readonly conversation: Conversation
  readonly style: TerminalStyle
  /** Lines for people, or one object for programs. */
  show(type: string, data: object, lines: readonly string[]): void
  note(text: string): void
  /** Takes up what has changed on disk, before work goes on. */
  reloadAgents(): Promise<void>
  /** Begins anew, with the team as its file says it now. */
  startOver(): Promise<void>
  leave(): void
}

interface SlashCommand {
  argument?: string
  description: string
  execute(chat: SlashContext, rest: string): void | Promise<void>
}

export const SLASH_COMMANDS: Readonly<Record<string, SlashCommand>> = {
  help: { description: 'this list', execute: showHelp },
  who: { description: 'who is in the team, and who has spoken', execute: showMembers },
  vars: { description: 'the variables and their values', execute: showVariables },
  set: { argument: 'NAME=VALUE', description: 'give a variable another value', execute: setVariable },
  next: {
    argument: 'AGENT',
    description: 'choose who goes on',
    execute: (to, agent) => steerTeam(to, { do: 'override', agent }),
  },
  pause: { description: 'stop before the next turn', execute: (to) => steerTeam(to, { do: 'pause' }) },
  step: { description: 'go on for one turn, then stop again', execute: (to) => steerTeam(to, { do: 'step' }) },
  continue: { description: 'go on', execute: (to) => steerTeam(to, { do: 'continue' }) },
  why: { description: 'why the work went where it last went', execute: explainHandoffs },
  graph: { description: 'who hands to whom', execute: showGraph },
  artifacts: {
    argument: '[NAME]',
    description: 'what was written; with a name, its newest version',
    execute: showArtifacts,
  },
  new: { description: 'begin anew, with the team file as it is now', execute: (to) => to.startOver() },
  retry: { description: 'try again what failed', execute: retryRun },
  end: { description: 'end the team; what was said stays', execute: endTeam },
  quit: { description: 'leave; the conversation stays', execute: (to) => to.leave() },
}

/** Does what a line that begins with / asks for. */
export async function runSlashCommand(chat: SlashContext, text: string): Promise<void> {
  const [, word = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? []
  const names = Object.keys(SLASH_COMMANDS)
  const slash = Object.hasOwn(SLASH_COMMANDS, word) ? SLASH_COMMANDS[word] : undefined
  if (!slash)
    throw unknownNameError('invalid_input', {
      kind: 'command',
      name: `/${word}`,
      known: names.map((name) => `/${name}`),
    })
  if (slash.argument && !slash.argument.startsWith('[') && rest.trim() === '') {
    throw new TroupeError('invalid_input', `/${word} needs ${slash.argument}`, { hint: '/help says more' })
  }
  await slash.execute(chat, rest.trim())
}

function showHelp(chat: SlashContext): void {
  const { style } = chat
  const rows = Object.entries(SLASH_COMMANDS).map(([name, { argument = '', description }]) => ({
    name,
    takes: argument,
    about: description,
  }))
  const lines = rows.flatMap(({ name, takes, about }) => {
    const [first = '', ...rest] = wrapText(padToWidth(`  /${`${name} ${takes}`.trim()}`, 20) + about, style.width, 20)
    return [style.paint('bold', first.slice(0, 20)) + first.slice(20), ...rest]
  })
  chat.show('help', { commands: rows }, [
    ...lines,
    ...wrapText(
      '  Everything else is said to the team: it answers what is asked, or is read before the next turn.',
      style.width,
      2,
    ),
  ])
}

function showMembers(chat: SlashContext): void {
  const { conversation, style } = chat
  const { team } = conversation.context
  const { run, turnCounts } = conversation.transcript
  // Members of a group are on no route, and speak.
  const turns = (name: string) =>
    Math.max(run.team.route.filter((each) => each === name).length, turnCounts.get(name) ?? 0)
  const speaking = conversation.isBusy ? run.team.route.at(-1) : undefined
  const places = (team.form?.roles ?? []).map(({ name, role }) => ({ name, kind: 'agent', role }))
  const groups = team.groups.map(({ name, kind, members }) => ({ name, kind, role: members.join(', ') }))
  const members = [...team.agents, ...places, ...groups].map(({ name, kind, role = '' }) => {
    return { name, kind, role, turns: turns(name), speaking: name === speaking }
  })
  const widest = Math.min(24, Math.max(...members.map(({ name }) => name.length)))
  const lines = members.map(({ name, kind, role, turns: count, speaking: now }) => {
    const facts = [...(kind === 'agent' ? [] : [kind === 'human' ? 'a person' : kind]), role, `${count}×`]
    const words = facts.filter((fact) => fact !== '').join(' · ')
    return renderLine(style, [
      ['cyan', now ? '● ' : '  '],
      ['bold', padToWidth(name, widest)],
      ['dim', `  ${toTerminalLine(words)}`],
    ])
  })
  chat.show('who', { members }, lines)
}

function showVariables(chat: SlashContext): void {
  const { conversation, style } = chat
  const { transcript, context, run_id } = conversation
  const variables =
    run_id === undefined ? { ...context.team.context_variables, ...context.variables } : transcript.variables
  const rows = Object.entries(variables)
  const lines = rows.map(([name, value]) =>
    renderLine(style, ['  ', ['bold', name], ` = ${toTerminalLine(JSON.stringify(value))}`]),
  )
  chat.show('vars', { variables }, rows.length > 0 ? lines : ['  the team has no variables'])
}

async function setVariable(chat: SlashContext, pair: string): Promise<void> {
  const { conversation } = chat
  if (!/^[^=]+=/.test(pair))
    throw new TroupeError('invalid_input', '/set needs NAME=VALUE', { hint: '/vars lists them' })
  const values = await parseTeamVariables(conversation.context.team, [pair])
  if (!conversation.isOpen) {
    Object.assign(conversation.context.variables, values)
    chat.note('noted for the next conversation')
    return
  }
  for (const [name, value] of Object.entries(values)) await steerTeam(chat, { do: 'set', name, value })
}

async function steerTeam(chat: SlashContext, action: SteerAction): Promise<void> {
  const { conversation } = chat
  if (!conversation.isOpen) {
    throw new TroupeError('invalid_input', 'no conversation is under way', { hint: 'say something first' })
  }
  const atWork = conversation.isBusy || conversation.inOtherProcess
  if (!atWork) await chat.reloadAgents()
  if (await conversation.steer(action)) return
  const onlyReply = conversation.questions.every(({ kind }) => kind === 'reply')
  const when = onlyReply ? 'with your next message' : 'when the team goes on'
  chat.note(`noted: it is taken ${atWork ? 'before the next turn' : when}`)
}

function explainHandoffs(chat: SlashContext): void {
  const { conversation, style } = chat
  const handoffs = conversation.transcript.handoffs.map(({ from, to, by, handoff_reason: reason, explanation }) => {
    return { from, to, by, reason, rules: explanation.rules }
  })
  const lines = handoffs.flatMap(({ from, to, by, reason, rules }, index) => [
    ...(index === 0 ? [] : ['']),
    renderLine(style, [['bold', `${toTerminalLine(from)} → ${toTerminalLine(to ?? 'nobody')}`]]),
    ...explanationLines({ decision: { to, by }, rules, reason, open: [] }, style),
  ])
  chat.show('why', { handoffs }, lines.length > 0 ? lines : ['  nobody has handed over yet'])
}

function showGraph(chat: SlashContext): void {
  const { conversation, style } = chat
  const drawn = buildTeamGraph(conversation.context.team)
  chat.show('graph', { graph: drawn }, teamGraphLines(drawn, style, style.ascii ? ASCII_SYMBOLS : UNICODE_SYMBOLS))
}

async function showArtifacts(chat: SlashContext, name: string): Promise<void> {
  const { conversation, style } = chat
  const { artifacts: written } = conversation.transcript
  if (name !== '') {
    const names = [...new Set(written.map((each) => each.name))]
    if (!names.includes(name)) throw unknownNameError('invalid_input', { kind: 'artifact', name, known: names })
    const found = await conversation.troupe.store.artifact(conversation.run_id ?? '', name)
    chat.show('artifact', { name, version: found?.version, content: found?.content }, [
      stripControlCharacters(found?.content ?? ''),
    ])
    return
  }
  const rows = written.map(({ name: each, version, by }) => ({ artifact: `${each}@${version}`, by }))
  const lines = rows.map(({ artifact, by }) =>
    renderLine(style, ['  ', ['bold', artifact], ['dim', `  by ${toTerminalLine(by)}`]]),
  )
  chat.show('artifacts', { artifacts: rows }, rows.length > 0 ? lines : ['  nothing was written'])
}

async function retryRun(chat: SlashContext): Promise<void> {
  const { conversation } = chat
  const { status } = conversation.result ?? {}
  if (conversation.inOtherProcess) {
    throw new TroupeError('run_busy', 'another process works on it', { hint: 'wait, or /end' })
  }
  if (status !== 'failed' && status !== 'pending' && status !== 'running') {
    throw new TroupeError('invalid_input', 'nothing has failed', { hint: 'say something to go on' })
  }
  await chat.reloadAgents()
  await conversation.retry()
}

async function endTeam(chat: SlashContext): Promise<void> {
  const { conversation } = chat
  if (!conversation.isOpen) {
    throw new TroupeError('invalid_input', 'no team is at work or waits', { hint: '/quit leaves' })
  }
  await conversation.end()
}

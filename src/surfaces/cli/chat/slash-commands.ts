import { TroupeError, unknownNameError } from '../../../errors.ts'
import type { SteerAction } from '../../../index.ts'
import { buildTeamGraph } from '../../../judgement/team/graph.ts'
import { padToWidth, stripControlCharacters, toTerminalLine, wrapText } from '../../../views/text-width.ts'
import { withPath } from '../commands/steer-command.ts'
import { parseTeamVariables } from '../load-team.ts'
import { explanationLines } from '../render/explanation-lines.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import { renderLine } from '../render/styled-line.ts'
import { ASCII_SYMBOLS, teamGraphLines, UNICODE_SYMBOLS } from '../render/team-graph-lines.ts'
import type { Conversation } from './conversation.ts'

export interface SlashContext {
  readonly conversation: Conversation
  readonly style: TerminalStyle
  /** Prints the lines, or one object with `--json`. */
  show(type: string, data: object, lines: readonly string[]): void
  note(text: string): void
  /** Applies changed agent files. */
  reloadAgents(): Promise<void>
  /** Starts a new conversation with the current team file. */
  startOver(): Promise<void>
  /** Sends a steer action. Only a question that the user has seen can be answered by it. */
  steer(action: SteerAction): Promise<SteeringEffect>
  /** Attaches a file to the next message; without a path, removes what is attached. */
  attach(path: string): Promise<void>
  quit(): void
}

/** `stale`: it was meant for a question that is no longer open, and was not sent. */
export type SteeringEffect = 'answered' | 'recorded' | 'stale'

interface SlashCommand {
  argument?: string
  description: string
  execute(chat: SlashContext, rest: string): void | Promise<void>
}

export const SLASH_COMMANDS: Readonly<Record<string, SlashCommand>> = {
  help: { description: 'list commands', execute: showHelp },
  who: { description: 'list members and their turns', execute: showMembers },
  vars: { description: 'list variables', execute: showVariables },
  set: { argument: 'NAME=VALUE', description: 'set a variable', execute: setVariable },
  next: {
    argument: 'AGENT',
    description: 'choose the next agent',
    execute: (chat, agent) => steerTeam(chat, withPath({ do: 'override', agent }, undefined)),
  },
  pause: paceCommand('pause', 'pause before the next turn'),
  step: paceCommand('step', 'run one turn, then pause again'),
  continue: paceCommand('continue', 'continue after a pause'),
  say: { argument: 'SUB-TEAM TEXT', description: 'send a message to a sub-team', execute: sayToSubTeam },
  attach: {
    argument: '[FILE]',
    description: 'attach a file to your next message; without FILE, remove what is attached',
    execute: (chat, path) => chat.attach(path),
  },
  why: { description: 'explain the last handoff, rule by rule', execute: explainHandoffs },
  graph: { description: 'draw agents and handoffs', execute: showGraph },
  artifacts: {
    argument: '[NAME]',
    description: 'list artifacts; with a name, print its newest version',
    execute: showArtifacts,
  },
  new: { description: 'start a new conversation with the current team file', execute: (chat) => chat.startOver() },
  retry: { description: 'retry a failed run', execute: retryRun },
  end: { description: 'end the team; the journal is kept', execute: endTeam },
  quit: { description: 'quit; the conversation is kept', execute: (chat) => chat.quit() },
}

export async function runSlashCommand(chat: SlashContext, text: string): Promise<void> {
  const [, name = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? []
  const known = Object.keys(SLASH_COMMANDS).map((each) => `/${each}`)
  const command = Object.hasOwn(SLASH_COMMANDS, name) ? SLASH_COMMANDS[name] : undefined
  if (!command) throw unknownNameError('invalid_input', { kind: 'command', name: `/${name}`, known })
  if (command.argument && !command.argument.startsWith('[') && rest.trim() === '') {
    throw new TroupeError('invalid_input', `/${name} needs ${command.argument}`, { hint: '/help lists commands' })
  }
  await command.execute(chat, rest.trim())
}

function showHelp(chat: SlashContext): void {
  const { style } = chat
  const rows = Object.entries(SLASH_COMMANDS).map(([name, { argument = '', description }]) => ({
    name,
    argument,
    description,
  }))
  const lines = rows.flatMap(({ name, argument, description }) => {
    const [first = '', ...rest] = wrapText(
      padToWidth(`  /${`${name} ${argument}`.trim()}`, 20) + description,
      style.width,
      20,
    )
    return [style.paint('bold', first.slice(0, 20)) + first.slice(20), ...rest]
  })
  chat.show('help', { commands: rows }, [
    ...lines,
    ...wrapText(
      '  Any other line is a message: it answers the open question (of several, the one whose number it begins with), or is delivered before the next turn.',
      style.width,
      2,
    ),
  ])
}

function showMembers(chat: SlashContext): void {
  const { conversation, style } = chat
  const { team } = conversation.context
  const { turnCounts } = conversation.transcript
  const { route } = conversation.transcript.team
  // Members of a group have turns, but are not on the route.
  const turns = (name: string) => Math.max(route.filter((each) => each === name).length, turnCounts.get(name) ?? 0)
  const activeAgent = conversation.isBusy ? route.at(-1) : undefined
  const roles = (team.form?.roles ?? []).map(({ name, role }) => ({ name, kind: 'agent', role }))
  const groups = team.groups.map(({ name, kind, members }) => ({ name, kind, role: members.join(', ') }))
  const members = [...team.agents, ...roles, ...groups].map(({ name, kind, role = '' }) => {
    return { name, kind, role, turns: turns(name), speaking: name === activeAgent }
  })
  const widest = Math.min(24, Math.max(...members.map(({ name }) => name.length)))
  const lines = members.map(({ name, kind, role, turns: count, speaking: now }) => {
    const facts = [...(kind === 'agent' ? [] : [kind === 'human' ? 'human' : kind]), role, `${count}×`]
    const details = facts.filter((fact) => fact !== '').join(' · ')
    return renderLine(style, [
      ['cyan', now ? '● ' : '  '],
      ['bold', padToWidth(name, widest)],
      ['dim', `  ${toTerminalLine(details)}`],
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
  chat.show('vars', { variables }, rows.length > 0 ? lines : ['  no variables'])
}

async function setVariable(chat: SlashContext, pair: string): Promise<void> {
  const { conversation } = chat
  if (!/^[^=]+=/.test(pair))
    throw new TroupeError('invalid_input', '/set needs NAME=VALUE', { hint: '/vars lists the variables' })
  const values = await parseTeamVariables(conversation.context.team, [pair])
  if (!conversation.isOpen) {
    Object.assign(conversation.context.variables, values)
    chat.note('recorded for the next conversation')
    return
  }
  for (const [name, value] of Object.entries(values)) await steerTeam(chat, { do: 'set', name, value })
}

function paceCommand(pace: 'pause' | 'step' | 'continue', description: string): SlashCommand {
  const execute = (chat: SlashContext, path: string) => steerTeam(chat, withPath({ do: pace }, path || undefined))
  return { argument: '[SUB-TEAM]', description, execute }
}

async function sayToSubTeam(chat: SlashContext, rest: string): Promise<void> {
  const [, path = '', text = ''] = /^(\S+)\s+([\s\S]+)$/.exec(rest) ?? []
  if (text === '') {
    throw new TroupeError('invalid_input', '/say needs SUB-TEAM TEXT', {
      hint: 'name the sub-team first, such as: /say legal Check the dates; a line without / goes to the team',
    })
  }
  await steerTeam(chat, { do: 'say', text, path })
}

async function steerTeam(chat: SlashContext, action: SteerAction): Promise<void> {
  const { conversation } = chat
  if (!conversation.isOpen) {
    throw new TroupeError('invalid_input', 'no run is open', { hint: 'send a message first; /help lists commands' })
  }
  const isRunning = conversation.isBusy || conversation.inOtherProcess
  if (!isRunning) await chat.reloadAgents()
  if ((await chat.steer(action)) !== 'recorded') return
  const isOnlyReply = conversation.questions.every(({ kind }) => kind === 'reply')
  const when = isOnlyReply ? 'with your next message' : 'when the team continues'
  chat.note(`recorded: applied ${isRunning ? 'before the next turn' : when}`)
}

function explainHandoffs(chat: SlashContext): void {
  const { conversation, style } = chat
  const handoffs = conversation.transcript.handoffs.map(({ from, to, by, handoff_reason: reason, explanation }) => {
    return { from, to, by, reason, rules: explanation.rules }
  })
  const lines = handoffs.flatMap(({ from, to, by, reason, rules }, index) => [
    ...(index === 0 ? [] : ['']),
    renderLine(style, [['bold', `${toTerminalLine(from)} → ${toTerminalLine(to ?? 'the end')}`]]),
    ...explanationLines({ decision: { to, by }, rules, reason, open: [] }, style),
  ])
  chat.show('why', { handoffs }, lines.length > 0 ? lines : ['  no handoff yet'])
}

function showGraph(chat: SlashContext): void {
  const { conversation, style } = chat
  const graph = buildTeamGraph(conversation.context.team)
  chat.show('graph', { graph }, teamGraphLines(graph, style, style.ascii ? ASCII_SYMBOLS : UNICODE_SYMBOLS))
}

async function showArtifacts(chat: SlashContext, name: string): Promise<void> {
  const { conversation, style } = chat
  const { artifacts: written } = conversation.transcript
  if (name !== '') {
    const names = [...new Set(written.map((each) => each.name))]
    if (!names.includes(name)) throw unknownNameError('invalid_input', { kind: 'artifact', name, known: names })
    const found = await conversation.troupe.getArtifact(conversation.run_id ?? '', name)
    chat.show('artifact', { name, version: found.version, content: found.content }, [
      stripControlCharacters(found.content),
    ])
    return
  }
  const rows = written.map(({ name: each, version, by }) => ({ artifact: `${each}@${version}`, by }))
  const lines = rows.map(({ artifact, by }) =>
    renderLine(style, ['  ', ['bold', artifact], ['dim', `  by ${toTerminalLine(by)}`]]),
  )
  chat.show('artifacts', { artifacts: rows }, rows.length > 0 ? lines : ['  no artifacts'])
}

async function retryRun(chat: SlashContext): Promise<void> {
  const { conversation } = chat
  const { status, not_continued } = conversation.result ?? {}
  if (conversation.inOtherProcess) {
    throw new TroupeError('run_busy', '/retry: the run is running in another process', { hint: 'wait, or use /end' })
  }
  if (status !== 'failed' && status !== 'pending' && status !== 'running' && !not_continued) {
    throw new TroupeError('invalid_input', '/retry: the run has not failed', { hint: 'send a message to continue' })
  }
  await chat.reloadAgents()
  await conversation.retry()
}

async function endTeam(chat: SlashContext): Promise<void> {
  const { conversation } = chat
  if (!conversation.isOpen) {
    throw new TroupeError('invalid_input', '/end: no team is running or waiting', { hint: 'quit with /quit' })
  }
  await conversation.end()
}

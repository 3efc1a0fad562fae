import { TroupeError, unknownNameError } from '../../../errors.ts'
import type { SteerAction } from '../../../index.ts'
import { removedNameHint } from '../../../schema/removed-names.ts'
import { padToWidth, toTerminalLine, wrapText } from '../../../views/text-width.ts'
import { withPath } from '../commands/steer-command.ts'
import { parseTeamVariables } from '../load-team.ts'
import { explanationLines } from '../render/explanation-lines.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import { renderLine } from '../render/styled-line.ts'
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
  new: { description: 'start a new conversation with the current team file', execute: (chat) => chat.startOver() },
  retry: { description: 'retry a failed run', execute: retryRun },
  end: { description: 'end the team; the journal is kept', execute: endTeam },
  quit: { description: 'quit; the conversation is kept', execute: (chat) => chat.quit() },
}

export async function runSlashCommand(chat: SlashContext, text: string): Promise<void> {
  const [, name = '', rest = ''] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? []
  const known = Object.keys(SLASH_COMMANDS).map((each) => `/${each}`)
  const command = Object.hasOwn(SLASH_COMMANDS, name) ? SLASH_COMMANDS[name] : undefined
  const hint = removedNameHint(`/${name}`)
  if (!command) throw unknownNameError('invalid_input', { kind: 'command', name: `/${name}`, known, hint })
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

async function setVariable(chat: SlashContext, pair: string): Promise<void> {
  const { conversation } = chat
  if (!/^[^=]+=/.test(pair))
    throw new TroupeError('invalid_input', '/set needs NAME=VALUE', {
      hint: 'such as: /set words=100; `context_variables` of the team file has the names',
    })
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

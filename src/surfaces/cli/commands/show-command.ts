import type { NeedsReport } from '../../../entries/inspect.ts'
import { TroupeError, unknownNameError } from '../../../errors.ts'
import type { Event, RunResult, RunRow, Troupe } from '../../../index.ts'
import { attachmentLine, withoutFileData } from '../../../views/attachment-list.ts'
import type { RequestRecord } from '../../../views/detail/recorded-requests.ts'
import { changedPartsText, missingPartsText, modelChangesText } from '../../../views/needs-text.ts'
import { loadPatternViews, patternJson, patternPanels } from '../../../views/pattern-views.ts'
import { runViewFrom, treeRecords } from '../../../views/run-view.ts'
import { transcriptFrom } from '../../../views/session-transcript.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { resultRecord } from '../follow-run.ts'
import { toInertJson } from '../inert-output.ts'
import { withTroupe } from '../open-troupe.ts'
import { readMissingParts } from '../read-missing-parts.ts'
import { panelLines } from '../render/block-lines.ts'
import { otherEventLines } from '../render/pattern-lines.ts'
import { requestLines } from '../render/request-lines.ts'
import { answerHintLines, nextStepLines } from '../render/result-lines.ts'
import { eventLine, runHeader, usageNotes, waitingLines } from '../render/run-header.ts'
import { runTreeLines } from '../render/run-tree.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import { transcriptLines } from '../render/transcript-lines.ts'

type ShowOptions = { all?: boolean; events?: boolean; full?: boolean; requests?: true | string }

/** Shows a run as a tree of sessions and tool calls with duration and usage; in full, or one agent, as whole conversations. */
export function showCommand(cli: Cli<ShowOptions>, runId?: string, agent?: string): Promise<number> {
  const { requests } = cli.options
  // `show --requests RUN` names a run, not a number.
  if (typeof requests === 'string' && !/^\d+$/.test(requests))
    return showCommand({ ...cli, options: { ...cli.options, requests: true } }, requests, runId)
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, runId)
    if (requests !== undefined) {
      showRequests(cli, await troupe.requests(row.run_id), { agent, requests })
      return EXIT.done
    }
    const events = await troupe.events(row.run_id).all()
    if (cli.options.full || agent !== undefined) showTranscript(cli, events, agent)
    else if (cli.options.events) showEvents(cli, events)
    else if (cli.options.json) printJson(cli, withoutFileData(await runRecord(troupe, row, events)))
    else await showTree(cli, troupe, { row, events })
    return EXIT.done
  })
}

function showRequests(
  cli: Cli<ShowOptions>,
  all: readonly RequestRecord[],
  { agent, requests }: { agent: string | undefined; requests: true | string },
): void {
  const { terminal, options } = cli
  const ofAgent = all.filter((each) => agent === undefined || [each.agent, each.session_id].includes(agent))
  if (agent !== undefined && ofAgent.length === 0) throw unknownAgentError(agent, all)
  const shown = requests === true ? ofAgent : ofAgent.filter(({ number }) => number === Number(requests))
  if (requests !== true && shown.length === 0)
    throw new TroupeError('invalid_input', `--requests ${requests}: no such request`, {
      hint:
        ofAgent.length === 0
          ? 'no model was asked yet'
          : `the requests are ${ofAgent.map(({ number }) => number).join(', ')}`,
    })
  // Written piece by piece: whole conversations of many turns are longer than a string can be.
  if (options.json) {
    terminal.print('[')
    shown.forEach((each, index) => void terminal.print(`${toInertJson(each)}${index < shown.length - 1 ? ',' : ''}`))
    terminal.print(']')
    return
  }
  if (shown.length === 0) terminal.note('no model was asked yet')
  const style = { style: terminal.out, wrap: terminal.outputIsTTY, full: options.full === true }
  shown.forEach((each, index) => {
    const before = shown.slice(0, index).findLast(({ session_id }) => session_id === each.session_id)
    for (const line of [...(index === 0 ? [] : ['']), ...requestLines(each, { ...style, before })]) terminal.print(line)
  })
}

function unknownAgentError(agent: string, entries: readonly { agent: string }[]): TroupeError {
  const known = [...new Set(entries.map((entry) => entry.agent).filter((name) => name !== ''))]
  return unknownNameError('unknown_agent', { kind: 'agent', name: agent, known })
}

function showTranscript(cli: Cli<ShowOptions>, events: readonly Event[], agent: string | undefined): void {
  const { terminal, options } = cli
  const all = transcriptFrom(events)
  const entries = all.filter((entry) => agent === undefined || [entry.agent, entry.session_id].includes(agent))
  if (agent !== undefined && entries.length === 0) throw unknownAgentError(agent, all)
  if (options.json) printJson(cli, entries)
  else if (entries.length === 0) terminal.note('nothing was said yet')
  else {
    const context = { start: events[0]?.at ?? 0, style: terminal.out, wrap: terminal.outputIsTTY }
    terminal.print(transcriptLines(entries, context).join('\n'))
  }
}

function showEvents(cli: Cli<ShowOptions>, events: readonly Event[]): void {
  const { terminal, options } = cli
  for (const event of events) {
    terminal.print(options.json ? toInertJson(event) : eventLine(event, events[0]?.at ?? 0, terminal.out))
  }
}

async function runRecord(troupe: Troupe, row: RunRow, events: readonly Event[]) {
  const views = await loadPatternViews(await troupe.patterns())
  const view = runViewFrom(events, views)
  const result = await troupe.result(row.run_id)
  const { project, pattern, title, tags, created_at, ended_at } = row
  const { missing = [], changed = [] } = (await readMissingParts(troupe, row)) ?? {}
  return {
    ...resultRecord(result),
    project,
    pattern,
    title,
    tags,
    context: view.start?.context ?? {},
    created_at,
    ended_at,
    input: view.start?.input ?? null,
    limits: view.start?.limits ?? null,
    usage_notes: { estimated_calls: view.costs.sum.estimated.calls, lost: row.usage.lost },
    gates: result.gates,
    missing,
    changed,
    waiting: await troupe.waiting(row.run_id),
    ...patternJson(view),
    tree: treeRecords(view.children),
    timeline: (await troupe.timeline(row.run_id)).timeline,
  }
}

async function showTree(
  cli: Cli<ShowOptions>,
  troupe: Troupe,
  { row, events }: { row: RunRow; events: readonly Event[] },
): Promise<void> {
  const { terminal, options } = cli
  const style = terminal.out
  const now = Date.now()
  const view = runViewFrom(events, await loadPatternViews(await troupe.patterns()))
  const live = row.status === 'running' && troupe.isRunning(row)
  const all = options.all === true
  const result = await troupe.result(row.run_id)
  const needs = await readMissingParts(troupe, row)
  const waiting = await troupe.waiting(row.run_id)
  const lines = [
    ...runHeader(row, { live, view }, style),
    ...waiting.flatMap((request) => waitingLines(request, { now, style })),
    ...attachmentLines(view.start?.input, style),
    '',
    ...runTreeLines(view, { style, now, live, all }),
    ...sectionLines(panelLines(patternPanels(view), style, all)),
    ...sectionLines(otherEventLines(view, style)),
    ...sectionLines(usageNotes(view, style)),
    ...sectionLines(modelChangeLines(events, style)),
    ...sectionLines(needs ? needsLines(needs, style) : []),
    ...sectionLines(live ? [] : hintLines(result, style, needs === undefined || needs.missing.length === 0)),
  ]
  for (const line of lines) terminal.print(line)
}

/** Next steps without what `show` already prints. */
function hintLines(result: RunResult, style: TerminalStyle, canContinue: boolean): string[] {
  if (result.status === 'waiting') return result.gates.flatMap((gate) => answerHintLines(gate, style, canContinue))
  return nextStepLines(result, style, canContinue).filter((text) => !text.startsWith('see what happened'))
}

function attachmentLines(input: unknown, style: TerminalStyle): string[] {
  const line = attachmentLine(input)
  return line === '' ? [] : wrapText(toTerminalLine(line), style.width)
}

function modelChangeLines(events: readonly Event[], style: TerminalStyle): string[] {
  return events.flatMap((event) => {
    const changes = event.type === 'run:attempt' ? (event.data.models ?? []) : []
    if (changes.length === 0) return []
    return wrapText(toTerminalLine(`resumed with other models: ${modelChangesText(changes)}`), style.width, 2)
  })
}

function needsLines(needs: NeedsReport, style: TerminalStyle): string[] {
  const texts = [missingPartsText(needs), changedPartsText(needs)].filter((text) => text !== '')
  return texts.flatMap((text) => wrapText(text, style.width, 2))
}

function sectionLines(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', ...lines]
}

import type { Event, RunResult, RunRow, Troupe } from '../../../index.ts'
import { runViewFrom } from '../../../views/run-reducer.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { resultRecord } from '../follow-run.ts'
import { withTroupe } from '../open-troupe.ts'
import { agreementLines } from '../render/agreement-lines.ts'
import { answerHintLines, nextStepLines } from '../render/result-lines.ts'
import { eventLine, runHeader, usageNotes } from '../render/run-header.ts'
import { runTreeLines } from '../render/run-tree.ts'
import type { Look } from '../render/styled-line.ts'
import { routeLines } from '../render/team-progress.ts'

type ShowOptions = { all?: boolean; events?: boolean }

/** One run as a tree: who did what, for how long, for how much. */
export function showCommand(cli: Cli<ShowOptions>, wanted: string | undefined): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const row = await findRun(cli, troupe, wanted)
    const events = await troupe.events(row.run_id)
    if (cli.options.events) showEvents(cli, events)
    else if (cli.options.json) printJson(cli, await runRecord(troupe, row, events))
    else await showTree(cli, troupe, row, events)
    return EXIT.done
  })
}

function showEvents(cli: Cli<ShowOptions>, events: readonly Event[]): void {
  const { terminal, options } = cli
  for (const event of events) {
    terminal.print(options.json ? JSON.stringify(event) : eventLine(event, events[0]?.at ?? 0, terminal.out))
  }
}

async function runRecord(troupe: Troupe, row: RunRow, events: readonly Event[]) {
  const story = runViewFrom(events)
  const result = await troupe.result(row.run_id)
  const { project, pattern, title, created_at, ended_at } = row
  return {
    ...resultRecord(result),
    project,
    pattern,
    title,
    created_at,
    ended_at,
    input: story.start?.input ?? null,
    limits: story.start?.limits ?? null,
    usage_notes: { estimated_calls: story.estimated, lost: row.usage.lost },
    gates: result.gates,
    ...(story.team.route.length > 0 ? { route: story.team.route } : undefined),
    tree: story.children,
  }
}

async function showTree(cli: Cli<ShowOptions>, troupe: Troupe, row: RunRow, events: readonly Event[]): Promise<void> {
  const { terminal, options } = cli
  const look = terminal.out
  const now = Date.now()
  const story = runViewFrom(events)
  const live = row.status === 'running' && troupe.isRunning(row)
  const all = options.all === true
  const result = await troupe.result(row.run_id)
  const lines = [
    ...runHeader(row, live, look),
    '',
    ...runTreeLines(story, { look, now, live, all }),
    ...sectionLines(agreementLines(result.output, look)),
    ...sectionLines(routeLines(story.team.route, look)),
    ...sectionLines(usageNotes(story, look)),
    ...sectionLines(live ? [] : adviceLines(result, look)),
  ]
  for (const line of lines) terminal.print(line)
}

/** The tree has said what the questions are, and this is `show`. */
function adviceLines(result: RunResult, look: Look): string[] {
  if (result.status === 'waiting') return result.gates.flatMap((gate) => answerHintLines(gate, look))
  return nextStepLines(result, look).filter((text) => !text.startsWith('see what happened'))
}

function sectionLines(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', ...lines]
}

import type { ErrorRecord } from '../errors.ts'
import type { EventOf, Event as JournalEvent, PatternEventType, RunEnd, SessionEnd } from '../kernel/event.ts'
import type { Message } from '../kernel/model.ts'
import type { PatternPart } from '../kernel/pattern-part.ts'
import type { Panel, PanelBlock, PanelFact } from './panel.ts'
import type { PatternSessionFile } from './session-file/pattern-session-file.ts'
import type { TimelineMark } from './timeline/timeline-mark.ts'

/*
 * The view of a pattern: a reducer over its events, and functions from the reduced state to lines. All of it is pure; a
 * surface folds the journal, removes control characters from the text, fits it to its width and paints it.
 */

export type TextStyle = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'
export type TextSpan = string | readonly [TextStyle, string]
export type TextLine = readonly TextSpan[]

/** One line of progress, with the agent it is about and the depth of its indentation. */
export interface ProgressLine {
  speaker?: { agent: string; depth: number } | undefined
  spans: TextLine
  /** Texts that must not be cut off: they are wrapped below the line. */
  notes?: readonly string[]
}

/** The facts that a surface knows about a session. */
export interface SessionFacts {
  key: string
  agent: string
  depth: number
  status: 'running' | SessionEnd['status']
  error: ErrorRecord | null
  calls: number
  tokens: number
  started_at: number
  ended_at: number | null
}

/** The labels that a pattern gives one of its sessions; the instruction and the text are shown otherwise. */
export interface SessionLabel {
  purpose: string
  /** Replaces the text of the session. */
  result?: string
  /** Replaces the progress line of its start or end; `hidden` if events of the pattern report it. */
  start?: TextLine | 'hidden'
  end?: TextLine | 'hidden'
  /** Another session took over: only that one is shown. */
  superseded?: true
}

/** The sessions of the run that a view is part of. */
export interface SessionLookup {
  /** The session that this key opened. */
  session(key: string): SessionFacts | undefined
  /** The depth of the session that this key opened; for other keys, one below the session that called the pattern. */
  depth(key: string): number
}

export interface ViewPage {
  /** The output of the run; `null` while it has none. */
  output: unknown
  width: number
  /** The terminal shows ASCII only. */
  ascii: boolean
}

/** The facts about the run that panels are made with. */
export interface PanelScope {
  /** The input of the run, if it is a run of this pattern. */
  input?: unknown
  /** The output of the run, if it is a run of this pattern; `null` while it has none. */
  output: unknown
  /** How the run ended; absent while it goes on. */
  end?: Pick<RunEnd, 'status' | 'error'> | undefined
  sessions: SessionLookup
}

/** Why something happened, for the detail of an event: a handoff, a message, a vote. */
export interface EventExplanation {
  title: string
  facts: readonly PanelFact[]
  blocks: readonly PanelBlock[]
}

export interface PatternView<State = unknown, Event = EventOf<PatternEventType>> extends PatternPart<'view'> {
  initial(): State
  /** Adds one event of the pattern, including those of a nested instance; step keys tell them apart. */
  reduce(state: State, event: Event): State
  /** The progress line of an event, after `reduce`. Without this function the event's fields are shown. */
  progress?(state: State, event: Event, sessions: SessionLookup): ProgressLine | undefined
  /** `undefined` for sessions that are not the pattern's. */
  session?(state: State, session: SessionFacts): SessionLabel | undefined
  /** Additional indentation of sessions below this key. */
  depth?(key: string): number
  /**
   * The marks of this event on a timeline, after `reduce`. Messages and phases that `sessionFile` gives are there already; give them here only in
   * other words, which then replace those.
   */
  timeline?(state: State, event: Event): readonly TimelineMark[]
  /** Lines below the tree of `show` and below the result, if the run is one of this pattern. */
  lines?(state: State, page: ViewPage): readonly TextLine[]
  /** Pages about the run, as data: of a run of this pattern, and of runs in which an agent called it. None without anything to show. */
  panels?(state: State, scope: PanelScope): readonly Panel[]
  /** Explains one of its events; without this function its fields are shown. */
  explain?(state: State, event: Event): EventExplanation | undefined
  /**
   * Rebuilds the conversation that sessions of the pattern share (`SessionOpen.thread`) as it was when one of them opened. `events` is the whole journal:
   * some facts are recorded later than they were known.
   */
  sharedMessages?(events: readonly JournalEvent[], open: EventOf<'session:open'>): readonly Message[]
  /** Fields for `show --json`. */
  json?(state: State): Record<string, unknown>
  /** The text of an output that has no `response`. */
  outputText?(output: unknown): string | undefined
  /** The part of session files that only the pattern knows. */
  sessionFile?: PatternSessionFile<State, Event>
}

/** Checks a view against the events of its pattern and erases its types. */
export function definePatternView<State, Event>(view: PatternView<State, Event>): PatternView {
  // It gets its own state and the events of its own pattern only, which no type of a list of views can express.
  return view as unknown as PatternView
}

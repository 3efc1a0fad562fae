export type { Context, SettledResult } from '../kernel/context.ts'
export type {
  DeclaredEvent,
  EmittedData,
  EventSchemas,
  Pattern,
  PatternDefinition,
  PatternResult,
} from '../kernel/pattern.ts'
export { definePattern } from '../kernel/pattern.ts'
export type { Projection, RowChange, TableDefinition } from '../store/tables/projection.ts'
export { defineProjection } from '../store/tables/projection.ts'
export type { Panel } from '../views/panel.ts'
export type { PatternReport } from '../views/pattern-report.ts'
export type { PatternView } from '../views/pattern-view.ts'
export { definePatternView } from '../views/pattern-view.ts'
export type { PatternSessionFile } from '../views/session-file/pattern-session-file.ts'
export type { TimelineMark } from '../views/timeline/timeline-mark.ts'

export type { Finding } from './audit/finding.ts'
export { verifyJournal } from './audit/verify-journal.ts'
export type { AgentComparison, ComparedRun, RunComparison, RunUsage } from './engine/compare-runs.ts'
export { compareRuns } from './engine/compare-runs.ts'
export type { ReopenOptions } from './engine/engine.ts'
export type { CanonicalEvent, FieldDifference, JournalDifference } from './engine/journal-diff.ts'
export { canonicalJournal } from './engine/journal-diff.ts'
export type { ReplayReport } from './engine/replay-run.ts'
export type { WatchOptions } from './engine/run-stream.ts'
export type { ErrorCode, ErrorRecord, ResponsibleParty } from './errors.ts'
export { TroupeError } from './errors.ts'
export { readTeamFile } from './formats/read-team.ts'
export type { TeamFileProblem, TeamFileResult } from './formats/team-file.ts'
export type { HostProgram, NeedKind, NeedsReport, PartName, RunNeeds } from './judgement/needs/run-needs.ts'
export type { Policy } from './judgement/permission/permission-policy.ts'
export type { Team, TeamInput } from './judgement/team/team-schema.ts'
export type { Agent, AgentOrigin } from './kernel/agent.ts'
export type { Attachment } from './kernel/attachment.ts'
export type { Context, SettledResult } from './kernel/context.ts'
export type { Embedder } from './kernel/embedder.ts'
export type {
  Event,
  EventData,
  EventType,
  ForkChanges,
  ForkedFrom,
  ModelChange,
  Status,
  StopReason,
} from './kernel/event.ts'
export { isEvent } from './kernel/event.ts'
export type {
  Knowledge,
  KnowledgeDocument,
  KnowledgeKind,
  KnowledgeMatch,
  KnowledgeOutcome,
  KnowledgeQuery,
  KnowledgeSelection,
} from './kernel/knowledge.ts'
export type { Limits } from './kernel/limits.ts'
export { DEFAULT_LIMITS } from './kernel/limits.ts'
export type { Message, Model, ModelChunk, ModelRequest, Usage } from './kernel/model.ts'
export type {
  DeclaredEvent,
  DelegationRules,
  EmittedData,
  EventSchemas,
  Pattern,
  PatternDefinition,
  PatternResult,
} from './kernel/pattern.ts'
export { definePattern } from './kernel/pattern.ts'
export type { Delta } from './kernel/ports.ts'
export type { RateLimiter } from './kernel/rate-limiter.ts'
export type { Redactor } from './kernel/redactor.ts'
export type { RunContextData, RunMetadata } from './kernel/run-metadata.ts'
export type { PriceBook } from './kernel/spend.ts'
export type { SteerAction } from './kernel/steer-action.ts'
export type { ColumnCondition, ColumnValue, Row, TableQuery } from './kernel/table-query.ts'
export type { ChangePreview, Tool, ToolCall, ToolDefinition, ToolResult } from './kernel/tool.ts'
export type { World } from './kernel/world.ts'
export type { AddFilesOptions, AddFilesReport } from './knowledge/add-documents.ts'
export type { KnowledgeProgress, ReindexReport } from './knowledge/embedded-knowledge.ts'
export { fromLanguageModel } from './models/ai-sdk.ts'
export { aiTools } from './models/ai-tools.ts'
export type { DetectedModels, ModelConfig } from './models/detect.ts'
export { detectModels } from './models/detect.ts'
export type { LanguageModelOptions } from './models/language-model.ts'
export { loadPrices } from './models/pricing.ts'
export type { RateLimit, RateLimits } from './models/rate-limiter.ts'
export type { RetryPolicyOptions } from './models/retry.ts'
export { createRetryPolicy } from './models/retry.ts'
export type { BuildConfig, BuildSettings } from './patterns/build/build-config.ts'
export type {
  DeveloperInput,
  DeveloperOutput,
  ReviewerInput,
  ReviewerOutput,
  ReviewFinding,
} from './patterns/build/contracts.ts'
export type { BuildEvent } from './patterns/build/events.ts'
export type { BuildOutput } from './patterns/build/output.ts'
export type { CollaborateOutput } from './patterns/collaborate/collaborate-output.ts'
export type { CollaborateEvent } from './patterns/collaborate/events.ts'
export type { CollaborateConfig, CollaborateSettings } from './patterns/collaborate/input/collaborate-config.ts'
export type { Contribution } from './patterns/collaborate/output.ts'
export type { ConsultSettings } from './patterns/consult/consult-config.ts'
export type { ConsultEvent } from './patterns/consult/events.ts'
export type { ConsultOutput } from './patterns/consult/output.ts'
export type { TaskOutput, TaskRequest } from './patterns/task/input.ts'
export type { TaskConfig } from './patterns/task/task-config.ts'
export type { TeamEvent } from './patterns/team/events.ts'
export type { TeamOutput } from './patterns/team/input.ts'
export type { TeamSettings } from './patterns/team/team-settings.ts'
export type {
  AnswerVerdict,
  Hooks,
  HookVerdict,
  ModelRequestChanges,
  ModelVerdict,
  ProposedAnswer,
  ProposedModelRequest,
  ProposedToolCall,
  ProposedTurn,
} from './performers/hook.ts'
export type {
  Performer,
  PerformerHost,
  PerformerResult,
  PerformerTurn,
  PerformerUpdate,
  PermissionReply,
  PermissionRequestedCall,
} from './performers/performer.ts'
export type { AccountKey, AccountRow, AccountSum, ModelRequestStatus } from './run-model/accounts.ts'
export { accountsFrom, sumAccounts, sumAccountsBy } from './run-model/accounts.ts'
export type { AccountQuery } from './runtime/account-query.ts'
export { defineConfig, loadConfig } from './runtime/config/troupe-config.ts'
export type { DeletionReport, PruneOptions, Retention } from './runtime/delete-runs.ts'
export type { Page, PagedQuery, PageRequest } from './runtime/paged-query.ts'
export type {
  ArtifactSummary,
  EventQuery,
  GateQuery,
  Queries,
  RunQuery,
  SessionQuery,
  StoreStatus,
} from './runtime/queries.ts'
export { readAttachment } from './runtime/read-attachment.ts'
export type { Report, ReportQuery } from './runtime/report-query.ts'
export type {
  AnswerOptions,
  RunHandle,
  RunOptions,
  RunResult,
  SteerOptions,
  StreamItem,
} from './runtime/run-handle.ts'
export type { RunMoment, RunPanels } from './runtime/run-pages.ts'
export type { RunTimeline } from './runtime/run-timeline.ts'
export type { Troupe } from './runtime/troupe.ts'
export { createTroupe } from './runtime/troupe.ts'
export type { ReindexOptions, TroupeKnowledge } from './runtime/troupe-knowledge.ts'
export type {
  LoadedConfig,
  ModelOptions,
  TroupeConfig,
  TroupeMcpOptions,
  TroupeOptions,
} from './runtime/troupe-options.ts'
export type { VerifyFinding, VerifyReport } from './runtime/verify-store.ts'
export type { WorkOptions } from './runtime/work.ts'
export type { JsonSchema, Schema, SchemaInput, SchemaOutput, StandardSchema } from './schema/standard-schema.ts'
export type { ArtifactRow, GateRow, RunRow, SessionRow, Store } from './store/store.ts'
export type { ColumnType, ProjectedRun, Projection, RowChange, TableDefinition } from './store/tables/projection.ts'
export { defineProjection } from './store/tables/projection.ts'
export { defineTool } from './tools/define-tool.ts'
export type { McpLimits } from './tools/mcp/mcp-server.ts'
export type { HttpServerConfig, McpServerConfig, StdioServerConfig } from './tools/mcp/mcp-server-config.ts'
export type { McpServerStatus } from './tools/mcp/mcp-servers.ts'
export type { ToolsOptions } from './tools/tools.ts'
export { searchProviderFromEnv } from './tools/web/search-provider-from-env.ts'
export type { SearchProvider } from './tools/web/web-search-tool.ts'
export type { Detail, DetailSection } from './views/detail/detail.ts'
export type { RequestRecord } from './views/detail/recorded-requests.ts'
export type { ExportArtifact, RunExport } from './views/page-export/run-export.ts'
export type { PoolEntry } from './views/page-export/value-pool.ts'
export { valueFromPool } from './views/page-export/value-pool.ts'
export type {
  Panel,
  PanelBlock,
  PanelColumn,
  PanelEdge,
  PanelFact,
  PanelMessage,
  PanelNode,
  PanelShare,
  PanelStep,
  PanelTone,
  PanelUnit,
  PanelValue,
} from './views/panel.ts'
export type { PatternReport, ReportColumn, ReportFigures, ReportGroup } from './views/pattern-report.ts'
export type {
  EventExplanation,
  PanelScope,
  PatternView,
  SessionFacts,
  SessionLabel,
} from './views/pattern-view.ts'
export { definePatternView } from './views/pattern-view.ts'
export { loadPatternViews } from './views/pattern-views.ts'
export type { RunSummary } from './views/run-summary.ts'
export type { LoadedView } from './views/run-view.ts'
export type {
  AgentMessage,
  AgentSession,
  CollaborationInfo,
  MultiAgentSession,
  PhaseAnnotation,
  SessionProblem,
  SessionRun,
  SessionStatus,
  SessionSummary,
  SubAgentSession,
  SubagentInfo,
  SubSessionOutput,
  ToolCallRecord,
} from './views/session-file/agent-session.ts'
export { isMultiAgentSession } from './views/session-file/agent-session.ts'
export type {
  AgentIdentifier,
  AgentMessageType,
  AgentType,
  CollaborationPattern,
  PatternSessionFile,
  PhaseType,
  SessionFileChanges,
  SessionFileEntry,
  SessionFileMessage,
  TaskAssignment,
} from './views/session-file/pattern-session-file.ts'
export { sessionFileFrom } from './views/session-file/session-file.ts'
export { validateSession } from './views/session-file/validate-session.ts'
export type { TimelineSources, TimelineState } from './views/timeline/reduce-timeline.ts'
export {
  newTimeline,
  reduceTimeline,
  takeChanges,
  timelineFrom,
  timelineSnapshot,
} from './views/timeline/reduce-timeline.ts'
export type {
  Timeline,
  TimelineCall,
  TimelineChanges,
  TimelineGate,
  TimelineLane,
  TimelineLink,
  TimelineMessage,
  TimelineNotice,
  TimelinePause,
  TimelinePhase,
  TimelineRef,
  TimelineRun,
  TimelineSession,
  TimelineTable,
  TimelineTokens,
  TimelineTurn,
} from './views/timeline/timeline.ts'
export type { TimelineMark } from './views/timeline/timeline-mark.ts'
export { sessionFromTranscript } from './views/transcript/session-from-transcript.ts'
export type { WaitingRequest } from './views/waiting.ts'

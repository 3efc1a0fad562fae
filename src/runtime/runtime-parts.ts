import type { Engine } from '../engine/engine.ts'
import type { EnginePorts } from '../engine/engine-ports.ts'
import type { RunHost } from '../judgement/needs/run-needs.ts'
import type { Policy } from '../judgement/permission/permission-policy.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Embedder } from '../kernel/embedder.ts'
import type { Limits } from '../kernel/limits.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Ports } from '../kernel/ports.ts'
import type { World } from '../kernel/world.ts'
import type { EmbeddedKnowledge } from '../knowledge/embedded-knowledge.ts'
import type { Performer } from '../performers/performer.ts'
import type { Store } from '../store/store.ts'
import type { McpServers } from '../tools/mcp/mcp-servers.ts'
import type { Toolbox } from '../tools/tools.ts'
import type { CustomModels } from './adapt-options.ts'
import type { Lazy } from './lazy.ts'
import type { PatternRegistry } from './pattern-registry.ts'

/** What is looked up by meaning, loaded when it is first used. */
export interface LookupParts {
  embedder: Lazy<Embedder | undefined>
  knowledge: Lazy<(project: string) => EmbeddedKnowledge>
}

/** Parts that a program passes as objects; a run may add to them. */
export interface ProgramParts {
  customModels: CustomModels
}

/** The parts of a troupe. */
export interface RuntimeParts extends LookupParts, ProgramParts {
  world: World
  project: string
  limits: Limits
  agents: Agent[]
  store: Store
  policy: Policy
  /** `undefined` if no MCP server is configured. */
  mcp: McpServers | undefined
  /** `undefined` without a workspace. */
  toolbox: Toolbox | undefined
  checkedPorts: CheckedPorts
  registry: Lazy<PatternRegistry>
  host: Lazy<RunHost>
  execution: Lazy<ExecutionParts>
}

/** The ports that are created with the troupe, because an invalid option has to fail there. */
export type CheckedPorts = Pick<Ports, 'roster' | 'models' | 'retryPolicy' | 'tools'> &
  Partial<Pick<Ports, 'prices' | 'rateLimiter' | 'summaryModel' | 'idle_timeout_ms' | 'redactor'>> & {
    performers?: ReadonlyMap<string, Performer>
  }

/** The parts that execute runs. A program that only reads its store never loads them. */
export interface ExecutionParts {
  patterns: Pattern[]
  engine: Engine
  ports: Omit<EnginePorts, 'publish'>
}

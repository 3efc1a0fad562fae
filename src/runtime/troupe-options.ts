import type { Policy } from '../judgement/permission/permission-policy.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Embedder } from '../kernel/embedder.ts'
import type { Limits } from '../kernel/limits.ts'
import type { Model, Models } from '../kernel/model.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Redactor } from '../kernel/redactor.ts'
import type { RetryPolicy } from '../kernel/retry-policy.ts'
import type { PriceBook } from '../kernel/spend.ts'
import type { Tool } from '../kernel/tool.ts'
import type { World } from '../kernel/world.ts'
import type { ToolsInput } from '../models/ai-tools.ts'
import type { CassetteOptions } from '../models/cassette-file.ts'
import type { ModelConfig } from '../models/detect.ts'
import type { LanguageModel, ModelInput } from '../models/language-model.ts'
import type { SettingsByModel } from '../models/model-settings.ts'
import type { RateLimits } from '../models/rate-limiter.ts'
import type { BuildSettings } from '../patterns/build/build-config.ts'
import type { CollaborateSettings } from '../patterns/collaborate/input/collaborate-config.ts'
import type { ConsultSettings } from '../patterns/consult/consult-config.ts'
import type { TaskConfig } from '../patterns/task/task-config.ts'
import type { TeamSettings } from '../patterns/team/team-settings.ts'
import type { Hooks } from '../performers/hook.ts'
import type { Performer } from '../performers/performer.ts'
import type { Store } from '../store/store.ts'
import type { McpLimits } from '../tools/mcp/mcp-server.ts'
import type { McpServerConfig } from '../tools/mcp/mcp-server-config.ts'
import type { Sandbox } from '../tools/sandbox/sandbox.ts'
import type { ToolsOptions } from '../tools/tools.ts'
import type { Retention } from './delete-runs.ts'

/** An agent whose model may be an object. */
export interface AgentInput extends Omit<Agent, 'model'> {
  /** `provider/model`, a role, or a model. Default: the caller's model. */
  model?: ModelInput
}

export interface TroupeOptions<Patterns extends readonly Pattern[] = readonly Pattern[]> {
  /**
   * The configuration file (`troupe.config.ts`, `.js`, `.json` or `.yaml`) whose options these override: a path, what `loadConfig` returned,
   * or `false` for none. Default: that of the working folder, or of a folder above it in the git repository, if the program is in it.
   */
  config?: string | LoadedConfig | false
  /**
   * Whether the configuration of the working folder, and the agent files beside it, may be used: `project` uses them wherever the program is,
   * `recorded` as long as the user trusts them with this content (`~/.config/troupe/trust`, which the command line writes), `nothing` never.
   * Default: only if the program belongs to that project. Other folders that `agents` names are always used.
   */
  trust?: 'project' | 'recorded' | 'nothing'
  /**
   * A folder, a database file, `memory`, or a `Store`. A store that you name is yours. Default: the `store` of the configuration, or the folder
   * `.troupe`; that one is only read unless this installation created it, or `troupe trust store` was run.
   */
  store?: string | Store
  /** @internal The place without `store`, for the command line and configurations, which name no store of the operator. Default: `.troupe`. */
  defaultStore?: string
  /**
   * Which steps survive a power failure: `normal` (default) actions, answers and results, `full` every step, `relaxed` none.
   * All steps survive a killed process.
   */
  durability?: 'normal' | 'full' | 'relaxed'
  /** A namespace: runs and sessions of other projects are not visible. Default: `default`. */
  project?: string
  /** The model for agents that name none: a role, `PROVIDER/MODEL`, `scripted:FILE`, a `Model`, or a model of the AI SDK. */
  model?: ModelInput
  /**
   * Added to the built-in agents, under other names than theirs; an agent file may replace a built-in agent. A string is a folder or file with agent files
   * or rosters. With a configuration file and no such string, the agent folders of the project and the user are searched.
   */
  agents?: readonly (AgentInput | string)[]
  /** External agents that carry out the turns of agents with this `performer`, instead of the model loop. */
  performers?: Readonly<Record<string, Performer>>
  /** A list of tools, or an object of tools by name, which may be those of the AI SDK (`tool()`, `dynamicTool()`). */
  tools?: ToolsInput
  /** Gives agents the built-in tools (read, search, write, run commands, fetch pages), confined to this folder. */
  workspace?: ToolsOptions
  /** Names of built-in workspace tools that agents do not get. */
  disabledTools?: readonly string[]
  /** Your own patterns, in addition to the built-in ones. */
  patterns?: Patterns
  /** Settings of delegation. */
  task?: Partial<TaskConfig>
  /** Checks, limits and agents of the pattern `build`. */
  build?: BuildSettings
  /** Defaults and limits of the pattern `collaborate`. */
  collaborate?: CollaborateSettings
  /** Limits and settings of the pattern `consult`. */
  consult?: ConsultSettings
  /** The teams that agents can call by name. */
  team?: TeamSettings
  /** Compares statements by meaning. Default: a small local model; `false` compares them as text only. */
  embedder?: Embedder | false
  hooks?: readonly Hooks[]
  limits?: Partial<Limits>
  /** Rules for tool calls, such as `{ ask: ['Bash'], deny: ['Write(.env*)'] }`. Agent files can only restrict further. */
  permissions?: Policy
  engine?: EngineOptions
  /**
   * `false` only stores runs, answers and commands, for another process that calls `troupe.work()`: `run` waits for it, `start` does not.
   * Default: `true`.
   */
  execute?: boolean
  /**
   * Removes secrets from tool results before they enter the journal and the conversation. Default: built-in rules for keys, tokens
   * and passwords, and the values of secret environment variables; `false` keeps results as they are.
   */
  redact?: Redactor | false
  /**
   * Deletes runs that ended more than `max_age_days` ago, when the troupe is closed. Default: nothing is ever deleted by itself.
   */
  retention?: Retention
  /** Models and prices, instead of those found in the environment. */
  models?: ModelOptions
  /** Records every model request into a file, or replays such a file without a model or an API key. */
  cassette?: CassetteOptions
  /** MCP servers for all agents, in addition to those that agent files configure. */
  mcp?: TroupeMcpOptions
}

/** The options with all models and tools as those of Troupe. */
export interface AdaptedOptions extends Omit<TroupeOptions, 'model' | 'agents' | 'tools' | 'models'> {
  model?: string | Model
  agents?: readonly (Agent | string)[]
  tools?: readonly Tool[]
  models?: Omit<ModelOptions, 'custom'>
}

/**
 * The content of `troupe.config.ts`: the options of `createTroupe`. Relative paths start at the folder of the file. In JSON and YAML,
 * `tools`, `patterns` and `hooks` are paths of modules that export them.
 */
export interface TroupeConfig extends Omit<TroupeOptions, 'config' | 'execute' | 'workspace'> {
  /** As in `createTroupe`; the folder is that of the file unless `workspace.workspace` names another. */
  workspace?: Partial<ToolsOptions>
}

/** A configuration file that was loaded and checked. */
export interface LoadedConfig {
  path: string
  /** The folder of the project. */
  folder: string
  options: TroupeConfig
  /** @internal The file names its store by a relative path, which `options` has as an absolute one. */
  hasRelativeStore?: boolean
}

export interface EngineOptions {
  /** Runs that execute at once in this process; the others wait. Default: 1,000. */
  concurrency?: number
  /** Fails with `step_drift` where the code no longer matches the journal. */
  strict?: boolean
  world?: World
  retryPolicy?: RetryPolicy
}

export interface TroupeMcpOptions {
  /** By name: `{ command, args, env }`, or `{ type: 'http', url, headers }`. */
  servers?: Readonly<Record<string, McpServerConfig>>
  /** The sandbox for stdio servers. Default: the sandbox of the workspace. */
  sandbox?: Sandbox
  /** Runs stdio servers without a sandbox, with the rights of this process. */
  unconfined?: boolean
  /** Environment variables that servers in agent files may use. */
  exposeEnv?: readonly string[]
  limits?: Partial<McpLimits>
}

export interface ModelOptions {
  /** Your own models, found by their names; those of the AI SDK are named `provider/model`. */
  custom?: readonly (Model | LanguageModel)[]
  /** The models for the roles `fast`, `general` and `reasoning`. */
  config?: ModelConfig
  prices?: PriceBook
  /** The model that summarises long conversations. Default: the role `fast`. */
  summary?: string
  /**
   * Requests and tokens per minute, by provider (`anthropic`) or model (`openai/gpt-4o`). All processes with the same store
   * share them. Default: none; a provider's own limits are respected by waiting and retrying.
   */
  rateLimits?: RateLimits
  /**
   * `temperature`, `top_p`, `seed`, `tool_choice` and `provider_options` of all requests to a provider (`anthropic`) or model
   * (`openai/gpt-5.5`). Settings of an agent take precedence.
   */
  settings?: SettingsByModel
  /**
   * Milliseconds without a byte of the response after which a request counts as stalled and is sent again. Default: 240,000, which is
   * less than the time after which nothing is retried. Raise it for a slow server; Node itself waits no longer than 300,000.
   */
  idle_timeout_ms?: number
  /** Resolves model names instead of the built-in registry. */
  resolver?: Models
}

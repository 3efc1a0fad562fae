import { TroupeError, unknownNameError } from '../../../errors.ts'
import type { Roster } from '../../../kernel/roster.ts'
import { toIdentifier } from '../../../requests/read-answer.ts'
import type { ScenarioSettings } from './scenario-settings.ts'

/** A kind of consultation, and the specialists that usually answer it. */
export interface Scenario {
  name: string
  description: string
  /** The agent that usually answers. */
  primary: string
  /** The agent that is asked when `primary` failed or is not available. */
  fallback: string | undefined
  /** The keys of its specialists that come from the configuration: those have to be in the roster. */
  configured: readonly ('primary' | 'fallback')[]
}

type BuiltInScenario = Omit<Scenario, 'name' | 'configured'>

const BUILT_IN: Readonly<Record<string, BuiltInScenario>> = {
  model_data: {
    description: 'Structure of data: fields, types, relations and validation of models, tables, schemas and migrations',
    primary: 'backend_developer',
    fallback: 'architect',
  },
  security_review: {
    description:
      'Security of code and design: authentication, authorization, secrets, encryption, injection, vulnerabilities',
    primary: 'security_expert',
    fallback: 'reviewer',
  },
  api_clarification: {
    description:
      'Contract of an API: endpoints, parameters, requests, responses, status codes, errors, versions, webhooks',
    primary: 'backend_developer',
    fallback: 'frontend_developer',
  },
  bug_debugging: {
    description: 'Finding the cause of a defect: failures, crashes, wrong results, flaky tests, races, regressions',
    primary: 'backend_developer',
    fallback: 'qa_engineer',
  },
  requirements: {
    description:
      'Intended behaviour and priorities: requirements, acceptance criteria, scope, what users and the business want',
    primary: 'project_manager',
    fallback: 'architect',
  },
  infrastructure: {
    description:
      'Deployment and operations: containers, CI/CD, servers, networking, storage, configuration, monitoring, scaling',
    primary: 'devops_engineer',
    fallback: 'backend_developer',
  },
}

const NEW_SCENARIO_KEYS = ['description', 'primary'] as const

/** The built-in scenarios with `consult.scenarios` of the configuration. Throws `invalid_input` for a name that is neither known nor defined. */
export function resolveScenarios(settings: Readonly<Record<string, ScenarioSettings>> = {}): Scenario[] {
  const builtIn = Object.entries(BUILT_IN).map(([name, scenario]) => mergeScenario(name, scenario, settings[name]))
  const added = Object.entries(settings).filter(([name]) => !Object.hasOwn(BUILT_IN, name))
  return [...builtIn, ...added.map(([name, setting]) => newScenario(name, setting))]
}

function mergeScenario(name: string, scenario: BuiltInScenario, settings: ScenarioSettings = {}): Scenario {
  const configured = (['primary', 'fallback'] as const).filter((key) => settings[key] !== undefined)
  return {
    name,
    description: settings.description ?? scenario.description,
    primary: settings.primary ?? scenario.primary,
    fallback: settings.fallback ?? scenario.fallback,
    configured,
  }
}

function newScenario(name: string, settings: ScenarioSettings): Scenario {
  const missing = NEW_SCENARIO_KEYS.filter((key) => settings[key] === undefined)
  if (missing.length > 0) {
    const known = unknownNameError('invalid_input', { kind: 'scenario', name, known: Object.keys(BUILT_IN) })
    throw new TroupeError('invalid_input', `\`consult.scenarios\`: ${known.message}`, {
      alternatives: known.alternatives,
      hint: `use a known name, or define a new scenario: '${name}' lacks ${missing.map((key) => `\`${key}\``).join(', ')}`,
    })
  }
  const { description = '', primary = '', fallback } = settings
  return mergeScenario(name, { description, primary, fallback }, settings)
}

/** Throws `unknown_agent` when `consult.scenarios` names a specialist that the roster lacks. Built-in specialists may be missing. */
export function checkScenarioAgents(scenarios: readonly Scenario[], roster: Roster): void {
  for (const scenario of scenarios) {
    for (const key of scenario.configured) {
      const name = scenario[key]
      if (name === undefined || roster.has(name)) continue
      const unknown = unknownNameError('unknown_agent', { kind: 'agent', name, known: roster.names })
      throw new TroupeError('unknown_agent', `\`consult.scenarios.${scenario.name}.${key}\`: ${unknown.message}`, {
        alternatives: unknown.alternatives,
        hint: unknown.hint,
      })
    }
  }
}

/** The scenario of this name; a reason in free text has none. */
export function findScenario(scenarios: readonly Scenario[], reason: string | undefined): Scenario | undefined {
  const wanted = toIdentifier(reason ?? '')
  return scenarios.find(({ name }) => toIdentifier(name) === wanted)
}

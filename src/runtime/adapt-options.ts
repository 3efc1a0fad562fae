import { TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Model } from '../kernel/model.ts'
import type { Tool } from '../kernel/tool.ts'
import type { ToolsInput } from '../models/ai-tools.ts'
import type { LanguageModel, ModelInput } from '../models/language-model.ts'
import { definedFields, isRecord } from '../schema/json-value.ts'
import type { AdaptedOptions, AgentInput, TroupeOptions } from './troupe-options.ts'

/** The options with models and tools of the AI SDK as those of Troupe; agents name their models. */
export async function adaptOptions(
  { model, models, agents, tools, ...options }: TroupeOptions,
  custom: CustomModels,
): Promise<AdaptedOptions> {
  for (const each of models?.custom ?? []) await custom.add(each, 'models.custom')
  const nameModel = async (agent: AgentInput | string): Promise<Agent | string> => {
    if (typeof agent === 'string') return agent
    const { model, ...fields } = agent
    return model === undefined
      ? fields
      : { ...fields, model: await custom.nameOf(model, `agents: ${agent.name}.model`) }
  }
  const named = agents && (await Promise.all(agents.map(nameModel)))
  const own = typeof model === 'object' ? await custom.add(model, 'model') : model
  return {
    ...options,
    ...(own !== undefined && { model: own }),
    ...(models && { models: definedFields({ ...models, custom: undefined }) }),
    ...(named && { agents: named }),
    ...(tools && { tools: await adaptTools(tools) }),
  }
}

async function adaptTools(tools: ToolsInput): Promise<Tool[]> {
  const [{ toolList }, { defineTool }] = await Promise.all([
    import('../models/ai-tools.ts'),
    import('../tools/define-tool.ts'),
  ])
  return toolList(tools).map(defineTool)
}

/** The models that a program passes as objects, by name. */
export class CustomModels {
  readonly byName = new Map<string, Model>()
  readonly #given = new Map<string, Model | LanguageModel>()

  async nameOf(model: ModelInput, option: string): Promise<string> {
    return typeof model === 'string' ? model : (await this.add(model, option)).name
  }

  /** Models of one provider instance are the same model; another model of this name is a mistake. */
  async add(given: Model | LanguageModel, option: string): Promise<Model> {
    const [{ toModel }, { knownLimits }] = await Promise.all([
      import('../models/ai-sdk.ts'),
      import('../models/pricing.ts'),
    ])
    const adapted = toModel(given, option)
    const limits = adapted === given ? undefined : await knownLimits(adapted.name)
    const model = limits ? { ...adapted, limits } : adapted
    const { name } = model
    const other = this.#given.get(name)
    if (other && !isSameModel(other, given)) {
      throw new TroupeError('invalid_input', `\`${option}\`: two models have the name '${name}'`, {
        hint: "name one of them: fromLanguageModel(model, { name: 'gateway/claude' })",
      })
    }
    this.#given.set(name, given)
    this.byName.set(name, model)
    return model
  }
}

/** True for models of one provider instance. Their API key, base URL or middleware cannot be seen, so that anything else may differ. */
function isSameModel(a: Model | LanguageModel, b: Model | LanguageModel): boolean {
  if (a === b) return true
  if (!('modelId' in a && 'modelId' in b) || a.modelId !== b.modelId || a.provider !== b.provider) return false
  const prototype = Object.getPrototypeOf(a)
  if (prototype !== Object.getPrototypeOf(b) || prototype === Object.prototype) return false
  const [one, other] = [connectionOf(a), connectionOf(b)]
  return one.headers !== undefined && one.headers === other.headers && one.baseURL === other.baseURL
}

/** Each instance of a provider makes a function for its headers, which its models share. */
function connectionOf(model: object): { headers?: unknown; baseURL?: unknown } {
  return 'config' in model && isRecord(model.config) ? model.config : {}
}

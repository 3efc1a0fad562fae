import { TroupeError } from '../errors.ts'
import type { SamplingSettings } from '../kernel/model.ts'
import { isRecord } from '../schema/json-value.ts'
import { providerName } from './endpoints.ts'

/** Settings by provider (`anthropic`) or model (`openai/gpt-5.5`); those of the model take precedence. */
export type SettingsByModel = Readonly<Record<string, SamplingSettings>>

/** The settings of requests to a model; options of a provider are merged. */
export function settingsFor(settings: SettingsByModel, model: string): SamplingSettings | undefined {
  const general = settings[providerName(model)]
  const own = settings[model]
  if (!general || !own || general === own) return own ?? general
  const names = Object.keys({ ...general.provider_options, ...own.provider_options })
  const merged = names.map((name) => [name, { ...general.provider_options?.[name], ...own.provider_options?.[name] }])
  const provider_options = names.length === 0 ? undefined : { provider_options: Object.fromEntries(merged) }
  return { ...general, ...own, ...provider_options }
}

type Check = (value: unknown) => boolean

const isNumberFrom0To =
  (max: number): Check =>
  (value) =>
    typeof value === 'number' && value >= 0 && value <= max

export const SAMPLING_CHECKS: Readonly<Record<keyof SamplingSettings, { check: Check; expected: string }>> = {
  temperature: { check: isNumberFrom0To(2), expected: 'a number from 0 to 2' },
  top_p: { check: isNumberFrom0To(1), expected: 'a number from 0 to 1' },
  seed: { check: Number.isSafeInteger, expected: 'an integer' },
  tool_choice: {
    check: (value) =>
      ['auto', 'required', 'none'].includes(value as string) || (isRecord(value) && typeof value.tool === 'string'),
    expected: 'auto, required, none or { tool: NAME }',
  },
  provider_options: {
    check: (value) => isRecord(value) && Object.values(value).every(isRecord),
    expected: 'options by provider, such as { anthropic: { effort: low } }',
  },
}

/** Throws `invalid_input`: a misspelled setting would silently have no effect on any request. */
export function checkModelSettings(settings: SettingsByModel): void {
  const known = Object.keys(SAMPLING_CHECKS)
  for (const [model, entries] of Object.entries(settings)) {
    for (const [field, value] of Object.entries(entries)) {
      const rule = Object.hasOwn(SAMPLING_CHECKS, field) ? SAMPLING_CHECKS[field as keyof SamplingSettings] : undefined
      if (rule && (value === undefined || rule.check(value))) continue
      const problem = rule ? `is not ${rule.expected}` : 'is unknown'
      throw new TroupeError('invalid_input', `\`models.settings\`: ${field} of '${model}' ${problem}`, {
        hint: `set ${known.join(', ')}`,
        alternatives: known,
      })
    }
  }
}

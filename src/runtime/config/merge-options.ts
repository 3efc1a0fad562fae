import { toolList } from '../../models/ai-tools.ts'
import type { TroupeConfig } from '../troupe-options.ts'

/*
 * How options override a configuration: lists are joined, objects of settings are merged down to the entries of a block (a server of
 * `mcp.servers`), everything else is replaced.
 */

/** Settings that only make sense as a whole. */
const REPLACED = new Set(['store', 'model', 'cassette', 'embedder', 'redact'])
/** `mcp.servers.NAME` is replaced as a whole. */
const MERGED_LEVELS = 3

/** The options that result when `options` override those of a configuration. */
export function mergeOptions(config: TroupeConfig, options: TroupeConfig): TroupeConfig {
  const merged: Record<string, unknown> = { ...config }
  for (const [name, value] of Object.entries(options)) {
    const base = merged[name]
    if (name === 'tools' && config.tools && options.tools)
      merged.tools = [...toolList(config.tools), ...toolList(options.tools)]
    else if (value !== undefined) merged[name] = REPLACED.has(name) ? value : mergeValue(base, value, 1)
  }
  return merged
}

function mergeValue(base: unknown, value: unknown, level: number): unknown {
  if (Array.isArray(base) && Array.isArray(value)) return [...base, ...value]
  if (level >= MERGED_LEVELS || !isSettings(base) || !isSettings(value)) return value === undefined ? base : value
  const names = new Set([...Object.keys(base), ...Object.keys(value)])
  return Object.fromEntries([...names].map((name) => [name, mergeValue(base[name], value[name], level + 1)]))
}

/** False for an instance of a class and an object with methods, such as a model or a performer. */
function isSettings(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return (
    (prototype === Object.prototype || prototype === null) &&
    Object.values(value).every((each) => typeof each !== 'function')
  )
}

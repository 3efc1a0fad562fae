import { resolve } from 'node:path'
import type { LoadedConfig, TroupeConfig } from '../troupe-options.ts'

/** Gives a configuration its type: `export default defineConfig({ … })`. */
export function defineConfig(config: TroupeConfig): TroupeConfig {
  return config
}

/**
 * Loads and checks a configuration file, for `createTroupe({ config })`. Code in it is executed, whoever wrote it: pass only files that you
 * trust. With `base`, its options override those.
 */
export async function loadConfig(path: string, base?: LoadedConfig): Promise<LoadedConfig> {
  const { toConfigFile } = await import('../../formats/config-file.ts')
  const { loadConfigFile } = await import('./load-config-file.ts')
  const loaded = await loadConfigFile(toConfigFile(resolve(path)))
  if (!base) return loaded
  const { mergeOptions } = await import('./merge-options.ts')
  return { ...loaded, options: mergeOptions(base.options, loaded.options) }
}

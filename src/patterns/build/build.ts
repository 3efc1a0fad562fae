import type { Pattern } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { requestInputOf } from '../../schema/input-forms.ts'
import type * as z from '../../schema/zod.ts'
import type { BuildConfig } from './build-config.ts'
import { buildSettings, DEFAULT_BUILD_CONFIG, parseBuildConfig } from './build-config.ts'
import type { BuildContext } from './events.ts'
import { buildEvents } from './events.ts'
import { buildInput } from './input.ts'
import type { BuildOutput } from './output.ts'
import { buildOutput } from './output.ts'

/** The pattern with its types for programs. */
type BuildPattern = Pattern<'build', { input: z.input<typeof buildInput>; output: BuildOutput }>

const importExecution = () => import('./run-build.ts')

/** Architect, developers and reviewer change a git repository; the result is a branch. */
export function createBuildPattern(config: BuildConfig): BuildPattern {
  return definePattern({
    name: 'build',
    version: 1,
    description:
      'Let an architect, developers and a reviewer carry out a request in the git repository: planned, in parallel, tested and reviewed. The ' +
      'result is a branch. Costs many conversations.',
    category: 'task_management',
    delegation: { self: 'count', cycles: 'allow' },
    on_request: true,
    settings: async () => buildSettings,
    configure: (options) => createBuildPattern(parseBuildConfig(options)),
    input: buildInput,
    requestInput: requestInputOf(buildInput),
    output: buildOutput,
    events: buildEvents,
    view: async () => (await import('./view/view.ts')).buildView,
    load: importExecution,
    check(roster) {
      for (const name of [config.architect, config.developer, config.reviewer]) roster.get(name)
    },
    execute: async (context: BuildContext, input) => (await importExecution()).executeBuild(config, context, input),
  })
}

export const build = createBuildPattern(DEFAULT_BUILD_CONFIG)

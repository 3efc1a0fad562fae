import { relative } from 'node:path'
import { toTroupeError } from '../../errors.ts'
import { errorSummary } from '../../views/content-text.ts'
import type { Cli, CommandConfig } from './cli.ts'
import { findConfigFiles, findUntrustedReason, loadCommandConfig } from './project-config.ts'
import type { DoctorCheck } from './render/doctor-checks.ts'

export interface ConfigReport extends CommandConfig {
  checks: DoctorCheck[]
}

/** Which configuration files commands use here, and whether the project is trusted. Asks nothing. */
export async function checkConfigFiles({ terminal, options }: Cli): Promise<ConfigReport> {
  const trustProject = options.trustProject === true
  try {
    const { userFile, projectFile } = await findConfigFiles()
    const loaded = await loadCommandConfig(terminal, { use: 'doctor', trustProject, quiet: true })
    const reason = projectFile && !trustProject ? await findUntrustedReason(projectFile) : undefined
    return {
      ...loaded,
      checks: [
        projectCheck(projectFile?.path, { reason, trustProject }),
        ...(userFile ? [configCheck('ok', `${userFile.path}, of the user`)] : []),
      ],
    }
  } catch (thrown) {
    const error = toTroupeError(thrown)
    return { checks: [configCheck('error', errorSummary(error), error.hint)] }
  }
}

const UNTRUSTED_HINT = 'read it; other commands then ask on a terminal, and --trust-project uses it for one command'

function projectCheck(
  path: string | undefined,
  { reason, trustProject }: { reason: string | undefined; trustProject: boolean },
): DoctorCheck {
  if (path === undefined) return configCheck('ok', 'no troupe.config file; troupe init writes one')
  if (reason !== undefined) return configCheck('warning', `${reason}; it is not used`, UNTRUSTED_HINT)
  return configCheck(
    'ok',
    `${relative(process.cwd(), path)}, ${trustProject ? 'used because of --trust-project' : 'trusted'}`,
  )
}

function configCheck(status: DoctorCheck['status'], message: string, hint = ''): DoctorCheck {
  return { name: 'config', status, message, hint }
}

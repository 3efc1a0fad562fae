import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Attempt } from './attempt.ts'
import { hasSharedFile, readIfExists } from './host-fixture.ts'

export const writeAttempts: readonly Attempt[] = [
  { title: 'writing to an absolute path', run: ({ marker }) => `echo x > ${marker}` },
  { title: 'writing with ..', run: () => 'echo x > ../outside/marker' },
  { title: 'copying out', run: ({ marker }) => `echo x > here && cp here ${marker}` },
  { title: 'moving out', run: ({ marker }) => `echo x > here && mv here ${marker}` },
  { title: 'writing through a new symlink', run: ({ outside }) => `ln -s ${outside} l; echo x > l/marker` },
  {
    title: 'writing through an existing symlink',
    prepare: ({ workspace, outside }) => symlinkSync(outside, join(workspace, 'l')),
    run: () => 'echo x > l/marker',
  },
  {
    title: 'changing a file outside through a hard link',
    run: ({ outside }) => `ln ${outside}/secret.txt h && echo changed >> h`,
    escaped: ({ outside }) => readIfExists(join(outside, 'secret.txt')).includes('changed'),
  },
  { title: 'an open descriptor', run: ({ marker }) => `exec 7> ${marker}; echo x >&7` },
  { title: '/proc/self/root', run: ({ marker }) => `echo x > /proc/self/root${marker}` },
  { title: '/proc/self/cwd', run: () => 'echo x > /proc/self/cwd/../outside/marker' },
  {
    title: '/proc/1/root',
    run: ({ marker }) => `echo x > /proc/1/root${marker}`,
    no_control_run: 'process 1 belongs to the system, which may deny access itself',
  },
  {
    title: '/proc/PID/root of a host process',
    run: ({ marker, victim }) => `echo x > /proc/${victim.pid}/root${marker}`,
  },
  { title: 'the home folder', run: ({ outside }) => `HOME=${outside}/home; echo x > ~/../marker` },
  {
    title: '/tmp of the host',
    run: ({ unique }) => `echo x > /tmp/${unique}`,
    escaped: (host) => hasSharedFile('/tmp', host),
  },
  {
    title: 'shared memory',
    run: ({ unique }) => `echo x > /dev/shm/${unique}`,
    escaped: (host) => hasSharedFile('/dev/shm', host),
  },
  {
    title: '/var/tmp',
    run: ({ unique }) => `echo x > /var/tmp/${unique}`,
    escaped: (host) => hasSharedFile('/var/tmp', host),
  },
  { title: 'writing with node', run: ({ marker }) => `node -e 'require("fs").writeFileSync("${marker}", "x")'` },
  {
    title: 'deleting a file outside',
    run: ({ outside }) => `rm -f ${outside}/secret.txt`,
    escaped: ({ outside }) => !existsSync(join(outside, 'secret.txt')),
  },
  {
    title: 'changing the mode of a file outside',
    run: ({ outside }) => `chmod 777 ${outside}/secret.txt && echo did`,
    escaped: (_host, { text }) => text.includes('did'),
  },
]

export const archiveAttempts: readonly Attempt[] = [
  {
    title: 'an archive with .. in its names (zip slip)',
    run: () => `echo x > m && tar -cPf a.tar --transform 's,^,../outside/,;s,/m$,/marker,' m && tar -xPf a.tar`,
  },
  {
    title: 'an archive with absolute names',
    run: ({ marker }) => `echo x > m && tar -cPf a.tar --transform 's,^m$,${marker},' m && tar -xPf a.tar`,
  },
  {
    title: 'an archive with a symlink and a file below it',
    prepare: ({ workspace, outside }) => {
      const script = `ln -s ${outside} l; tar -cf a.tar l; rm l; mkdir l; echo x > l/marker; tar -rf a.tar l/marker; rm -r l`
      execFileSync('sh', ['-c', script], { cwd: workspace })
    },
    run: () => 'tar -xPf a.tar; ls -l',
  },
  {
    title: 'a careless unpacker in node',
    run: () =>
      `node -e 'const {join}=require("path"); require("fs").writeFileSync(join(process.cwd(), "../outside/marker"), "x")'`,
  },
]

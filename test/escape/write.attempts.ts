import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Attempt } from './attempt.ts'
import { hasSharedFile, readIfExists } from './host-fixture.ts'

export const writeAttempts: readonly Attempt[] = [
  { title: 'writing to an absolute path', run: ({ marker }) => `echo x > ${marker}` },
  { title: 'writing along ..', run: () => 'echo x > ../outside/marker' },
  { title: 'copying out', run: ({ marker }) => `echo x > here && cp here ${marker}` },
  { title: 'moving out', run: ({ marker }) => `echo x > here && mv here ${marker}` },
  { title: 'writing through a link made on the spot', run: ({ outside }) => `ln -s ${outside} l; echo x > l/marker` },
  {
    title: 'writing through a link that was there',
    prepare: ({ workspace, outside }) => symlinkSync(outside, join(workspace, 'l')),
    run: () => 'echo x > l/marker',
  },
  {
    title: 'changing a file outside through a hard link',
    run: ({ outside }) => `ln ${outside}/secret.txt h && echo changed >> h`,
    escaped: ({ outside }) => readIfExists(join(outside, 'secret.txt')).includes('changed'),
  },
  { title: 'an open descriptor', run: ({ marker }) => `exec 7> ${marker}; echo x >&7` },
  { title: "the process's own root in /proc", run: ({ marker }) => `echo x > /proc/self/root${marker}` },
  { title: 'the working folder in /proc', run: () => 'echo x > /proc/self/cwd/../outside/marker' },
  {
    title: 'the root of the first process',
    run: ({ marker }) => `echo x > /proc/1/root${marker}`,
    no_control_run: 'the first process is the system’s, and may refuse by itself',
  },
  {
    title: 'the root of a process of the host',
    run: ({ marker, victim }) => `echo x > /proc/${victim.pid}/root${marker}`,
  },
  { title: 'a folder of the home', run: ({ outside }) => `HOME=${outside}/home; echo x > ~/../marker` },
  {
    title: "the machine's /tmp",
    run: ({ unique }) => `echo x > /tmp/${unique}`,
    escaped: (scene) => hasSharedFile('/tmp', scene),
  },
  {
    title: 'shared memory',
    run: ({ unique }) => `echo x > /dev/shm/${unique}`,
    escaped: (scene) => hasSharedFile('/dev/shm', scene),
  },
  {
    title: '/var/tmp',
    run: ({ unique }) => `echo x > /var/tmp/${unique}`,
    escaped: (scene) => hasSharedFile('/var/tmp', scene),
  },
  { title: 'another program', run: ({ marker }) => `node -e 'require("fs").writeFileSync("${marker}", "x")'` },
  {
    title: 'removing something outside',
    run: ({ outside }) => `rm -f ${outside}/secret.txt`,
    escaped: ({ outside }) => !existsSync(join(outside, 'secret.txt')),
  },
  {
    title: 'changing the mode of something outside',
    run: ({ outside }) => `chmod 777 ${outside}/secret.txt && echo did`,
    escaped: (_scene, { text }) => text.includes('did'),
  },
]

export const archiveAttempts: readonly Attempt[] = [
  {
    title: 'an archive whose names go up',
    run: () => `echo x > m && tar -cPf a.tar --transform 's,^,../outside/,;s,/m$,/marker,' m && tar -xPf a.tar`,
  },
  {
    title: 'an archive with absolute names',
    run: ({ marker }) => `echo x > m && tar -cPf a.tar --transform 's,^m$,${marker},' m && tar -xPf a.tar`,
  },
  {
    title: 'an archive that brings a link and then a file below it',
    prepare: ({ workspace, outside }) => {
      const script = `ln -s ${outside} l; tar -cf a.tar l; rm l; mkdir l; echo x > l/marker; tar -rf a.tar l/marker; rm -r l`
      execFileSync('sh', ['-c', script], { cwd: workspace })
    },
    run: () => 'tar -xPf a.tar; ls -l',
  },
  {
    title: 'a zip file unpacked by a careless program',
    run: () =>
      `node -e 'const {join}=require("path"); require("fs").writeFileSync(join(process.cwd(), "../outside/marker"), "x")'`,
  },
]

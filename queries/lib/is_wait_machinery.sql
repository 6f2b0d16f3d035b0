-- # Does a frame belong to the machinery of waiting?
--
-- Whether a function switches, waits, signals, takes or releases a lock, or enters the kernel, and
-- so says nothing about why. Without function names, the modules that hold this machinery.
CREATE OR REPLACE MACRO is_wait_machinery(
    -- Module, or NULL.
    frame_module,
    -- Function, or NULL.
    frame_function
) AS (
    CASE
        WHEN frame_function IS NOT NULL THEN coalesce(regexp_matches(
            frame_function,
            '^(Ki[A-Z]|Ke[A-Z]|Kx[A-Z]|Kes[A-Z]|Hal[A-Z]|Hv[a-z]|Swap|Zw[A-Z]|Alpc[A-Z]'
            || '|Ex[a-z]*(Acquire|Release|Wait|Queue|Wake|WaitFor|TryTo|Enter|Block|Unblock)'
            || '|Ob(WaitFor|fDereference|DereferenceObject|CloseHandle)'
            || '|Nt(Wait|SignalAnd|Delay|SetEvent|Release|ReplyWait|Remove|Alpc|SetInformationWork)'
            || '|Io(CompleteRequest|fCompleteRequest|SetIoCompletion|RemoveIoCompletion)'
            || '|Rtl(p?Wait|p?Wake|p?Sleep|Enter|Leave|p?EnterCrit|p?LeaveCrit|p?UnWait)'
            || '|Rtl(Acquire|Release)'
            || '|WaitFor|WaitOn|Sleep|SignalObjectAndWait|SetEvent$|ReleaseMutex|ReleaseSemaphore'
            || '|(Enter|Leave)CriticalSection|LeaveCrit|UserSessionSwitchLeaveCrit'
            || '|MsgWait|RealMsgWait|xxxRealSleepThread|xxxSleepThread|NtUserMsgWait|TppWork|Wow64|'
            || 'CpupSyscall|ServiceNoWow64|Cpu[A-Z])'
        ), false)
        WHEN frame_module IS NOT NULL THEN lower(frame_module) IN (
            'ntoskrnl.exe', 'ntkrnlmp.exe', 'ntkrnlpa.exe', 'ntkrpamp.exe', 'hal.dll', 'ntdll.dll',
            'wow64.dll', 'wow64cpu.dll', 'wow64win.dll', 'win32u.dll', 'kernelbase.dll'
        )
        ELSE true
    END
);

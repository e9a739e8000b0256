import type { MailTexts } from "../en/mail.ts";
import { counter } from "../plural.ts";

const count = counter("pt-BR");

export const mail: MailTexts = {
  mail: {
    newStatus: (status) => `Novo status: ${status}`,
    replyBy: (name) => `${name} respondeu ao seu comentário`,
    submittedBy: (name) => `Enviada por ${name}`,
    open: "Abrir a sugestão",
    openBoard: "Abrir o quadro",
    digest: (organization) => `Novidades de ${organization}`,
    digestText: count({ one: "# novidade no que você segue", other: "# novidades no que você segue" }),
    team: (organization) => `Novo feedback para ${organization}`,
    teamText: count({ one: "# nova sugestão", other: "# novas sugestões" }),
    more: count({ one: "E mais # no quadro.", other: "E mais # no quadro." }),
    why: (organization) => `Você recebe este e-mail porque participa do feedback de ${organization}.`,
    whyTeam: (organization) => `Você recebe este e-mail porque faz parte da equipe de ${organization}.`,
    whyAuthor: (organization) =>
      `${organization} nos informou seu endereço junto com um feedback seu. Você pode parar todos os e-mails com um clique.`,
    invite: (organization) => `Convite para a equipe de ${organization}`,
    invites: (name, organization) => `${name} convida você para a equipe de ${organization}`,
    inviteUntil: (day) => `Entre com este endereço ou crie uma conta com ele. O convite vale até ${day}.`,
    whyInvite: (organization) =>
      `A equipe de ${organization} informou este endereço para convidar você. Se não souber por quê, não faça nada.`,
    refuseText: (organization) => `${organization} não enviará mais nada a este endereço, nem convites.`,
    unsubscribe: "Não receber mais e-mails deste tipo",
    mute: "Não receber mais e-mails sobre esta sugestão",
    choose: "Escolher quais e-mails você recebe",
    chooseOrStop: "Escolher quais e-mails você recebe, ou parar todos",
    title: "E-mails",
    intro: (organization) => `Quais e-mails ${organization} envia a você.`,
    disabled: (organization) =>
      `${organization} não envia e-mails no momento. Sua escolha valerá quando enviar.`,
    otherComments: "Outros comentários no que você segue",
    teamSummary: "Resumo do novo feedback",
    choices: { at_once: "Na hora", daily: "Todo dia", weekly: "Toda semana", never: "Nunca" },
    stop: (organization) => `Parar todos os e-mails de ${organization}`,
    stopped: (organization) => `Você não recebe e-mails de ${organization}.`,
    bounced:
      "Seu servidor de e-mail recusou nossas mensagens, por isso não enviamos nenhuma. Avise a equipe se isso mudou.",
    resume: "Voltar a receber e-mails",
    muted: "Sem e-mails sobre",
    unmute: "Voltar a receber e-mails",
    muteThis: "Não receber mais e-mails sobre esta sugestão?",
    unsubscribeTitle: "Não receber mais e-mails deste tipo?",
    unsubscribeText: (kind, organization) => `${organization} envia a você: ${kind}.`,
    digests: "Resumos",
    unsubscribeNow: "Não receber mais",
    accountsText:
      "Alguém informou o seu endereço aqui. A conta criada com ele é excluída e, por 90 dias, você não recebe e-mails sobre contas que outros criem com ele. Se você tem uma conta, nada muda nela.",
    accountsStopped:
      "Pronto: você não receberá mais e-mails sobre contas que outros criem com o seu endereço. Se você mesmo quiser uma conta aqui, volte antes a receber e-mails.",
    unsubscribed: "Pronto: você não receberá mais e-mails deste tipo.",
    newSurvey: (organization) => `${organization} pede a sua opinião`,
    surveyReminder: (organization) => `${organization} ainda espera a sua resposta`,
    answerSurvey: "Responder à pesquisa",
    surveys: "Pesquisas",
    claim: "Tem uma conta? Torne este feedback seu",
  },
  authMail: {
    code: "Seu código:",
    hint: "Digite-o onde ele for pedido ou use o botão. Os dois valem uma única vez e por pouco tempo.",
    hintCode: "Digite-o onde ele for pedido. Ele vale uma única vez e por pouco tempo.",
    ignore: "Você não pediu isto? Então não faça nada: sem o código e o botão, nada muda.",
    why: "Você recebe este e-mail porque ele trata da segurança da sua conta.",
    stop: "Não fui eu: não quero mais e-mails assim",
    undo: "Desfazer a mudança",
    undoHint: (site) =>
      `Não foi você? Então desfaça: por uma semana, este link encerra todas as sessões e permite escolher uma nova senha. Avise também quem cuida de ${site}.`,
    notYou: (site) => `Não foi você? Então escolha já uma nova senha e avise quem cuida de ${site}.`,
    names: {
      totp: "Aplicativo autenticador",
      phone: "Telefone",
      webauthn: "Chave de acesso",
      email: "E-mail",
    },
    signup: {
      subject: "Confirme seu endereço",
      text: "Alguém, provavelmente você, quer uma conta com este endereço. Se foi você, confirme que o endereço é seu.",
      act: "Confirmar o endereço",
    },
    magiclink: {
      subject: "Entrar",
      text: "Alguém, provavelmente você, quer entrar com este endereço.",
      act: "Entrar",
    },
    recovery: {
      subject: "Escolha uma nova senha",
      text: "Alguém, provavelmente você, pediu uma nova senha para este endereço.",
      act: "Escolher uma nova senha",
    },
    email_change: {
      subject: "Confirme seu novo endereço",
      text: "Alguém, provavelmente você, escolheu este endereço para uma conta. Se foi você, confirme que o endereço é seu.",
      act: "Confirmar o endereço",
    },
    email_change_current: {
      subject: "Confirme a mudança do seu endereço",
      text: "Alguém, provavelmente você, quer outro endereço para a sua conta. Ele muda quando os dois endereços confirmarem. A partir daí, os códigos e os outros e-mails vão só para o novo.",
      act: "Confirmar a mudança",
    },
    invite: {
      subject: "Você recebeu um convite",
      text: "Alguém criou uma conta para este endereço.",
      act: "Aceitar o convite",
    },
    reauthentication: {
      subject: "Confirme que é você",
      text: "Alguém, provavelmente você, está mudando algo importante na sua conta.",
    },
    password_changed_notification: {
      subject: "Sua senha foi alterada",
      text: "Sua conta tem uma nova senha.",
    },
    email_changed_notification: {
      subject: "O endereço da sua conta foi alterado",
      text: "O endereço que recebe este e-mail não é mais o da sua conta. Os códigos e os outros e-mails agora vão para o novo.",
    },
    phone_changed_notification: {
      subject: "Seu número de telefone foi alterado",
      text: "Sua conta tem um novo número de telefone.",
    },
    identity_linked_notification: {
      subject: "Há uma nova forma de entrar",
      text: "Uma forma de entrar foi adicionada à sua conta.",
    },
    identity_unlinked_notification: {
      subject: "Uma forma de entrar foi removida",
      text: "Não é mais possível entrar na sua conta desta forma.",
    },
    mfa_factor_enrolled_notification: {
      subject: "Um segundo fator foi adicionado",
      text: "Entrar na sua conta agora exige uma etapa a mais.",
    },
    mfa_factor_unenrolled_notification: {
      subject: "Um segundo fator foi removido",
      text: "Entrar na sua conta não exige mais este fator.",
    },
  },
};

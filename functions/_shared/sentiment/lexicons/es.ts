import type { Source } from "../entries.ts";

export const es: Source = {
  values: [
    [
      3,
      `encant* maravill* excelent* increible* fantastic* perfect* genial* estupend* espectacular* impresionante* inmejorable* magnific*
      fenomenal* brutal lo_mejor el_mejor la_mejor una_pasada de_diez un_diez 10_de_10 padrisim* padre chevere* chido bacan* una_maravilla
      de_lujo recomendable* totalmente_recomendad* adoro amo imprescindible* supera_las_expectativas super*_mis_expectativas con_creces`,
    ],
    [
      2,
      `buen buena buenas bueno buenos buenisim* bien gusta gustan gusto gustado gustaron mola recomiend* recomendar recomendado facil faciles facilisim* facilmente
      facilit* sencill* intuitiv* rapid* rapidisim* fluid* comod* util utiles utilisim* fiable* estable* practic* limpi* clar* bonit* preciosa precioso
      amable* atent* eficaz* eficient* satisfech* content* feliz felic* enhorabuena gracias ahorr* mejor mejora mejoro mejorado mejorada mejoras mejorando
      funciona_bien funciona_perfect* funciona_de_maravilla funciona_genial va_bien va_muy_bien va_genial va_de_lujo va_como_la_seda resuelt* resolvi* solucionaron solucionado
      soluciono ayud* agradable* por_fin vale_la_pena merece_la_pena sin_problema* ni_un_problema ningun_problema sin_queja* ninguna_queja
      no_esta_mal no_esta_nada_mal nada_mal no_puedo_quejarme sorprendid* no_podria_vivir_sin no_podria_trabajar_sin no_puedo_vivir_sin cumple_lo_que_promete acierto acertad*
      disfrut* divertid* potente* complet* profesional* eleg* segur* confianza no_cambio_por no_la_cambio no_lo_cambio al_instante en_el_acto a_la_primera`,
    ],
    [
      1,
      `correct* decente* modern* barat* economic* interesante* cumple aceptable* flexible* ligera ligero acogedor* organizad* ordenad*`,
    ],
    [
      0,
      `ni_bien_ni_mal ni_fu_ni_fa nada_especial nada_del_otro_mundo normal regular_tirando cumple_su_funcion mas_o_menos sin_mas buenos_dias buenas_tardes
      buenas_noches me_gustaria nos_gustaria gracias_de_antemano que_tal a_gusto del_consumidor mas_bien o_bien si_bien a_veces_bien a_veces_va_bien a_veces_funciona mensaje_de_error
      en_la_media del_monton segun_el_dia depende_del_dia sin_opinion me_da_igual`,
    ],
    [
      -1,
      `car* costos* escas* limitad* anticuad* incomplet* faltan falta falto falte complicad* dificil dificiles incomod* desordenad* demasiad* tarda tardan tardo espera esperando esperar esper* confus* raro rara
      lastima desgraciadamente lamentablemente mejorable* mucho_que_desear liad* lio`,
    ],
    [
      -2,
      `mal mala malas malo malos malisim* peor peores lent* lentisim* fall* falla error errores problem* bug bugs inutil* inservible* molest* frustr* decepcion* desilusion* defraud*
      enfad* harto harta hartos cansad* cans* abandon* roto rota rompe rompio rompen cierra_sol* se_cierra se_cuelga cuelga colg* bloque* se_traba congel* peta desaparec* perd* pierd* borr* no_funciona no_funcionan no_va
      no_abre no_carga no_sirve no_sirven no_responde* no_contesta* nadie_responde nadie_contesta sin_respuesta no_llega no_llegan no_encuentro no_encuentra no_hay_manera no_se_puede no_deja imposible*
      no_entiendo no_me_abre cobr*_dos_veces cobr*_de_mas sin_avisar queja quejas reclam* dej*_de_funcionar desastr* engorros* tedios* pesad* feo fea aburrid* caotic* caos ilegible*
      complicadisim* dificilisim* carisim* nadie_se_hace no_vale_la_pena no_merece_la_pena dar_de_baja me_di_de_baja cancel* tirar_el_dinero perdida_de_tiempo perder_el_tiempo demasiado_caro inestable* inaceptable* insoport*`,
    ],
    [
      -3,
      `odi* horrible* horror* pesim* terrible* fatal asco asqueros* basura mierda porqueria vergonz* verguenza lamentable* estafa* timo robo penos* nefast* chapuza desastre
      patetic* ni_a_mi_peor_enemigo lo_peor el_peor la_peor un_infierno indignante*`,
    ],
  ],
  negations: "no ni nunca jamas sin nada nadie ningun ninguna ninguno tampoco apenas menos",
  stronger:
    "muy mucho mucha super tan tanto realmente totalmente completamente demasiado bastante re sumamente siempre cada_vez de_verdad mega hiper extremadamente",
  weaker: "un_poco algo poco ligeramente a_veces casi medio relativamente",
  contrasts: "pero aunque sin_embargo no_obstante sino mas_bien lastima salvo excepto",
  wishes: `por_favor me_gustaria nos_gustaria seria estaria_bien estaria podria podrian podrias pudiera se_puede ojala sugier* sugerencia sugiero agreg* anad* deberia* propongo
    quisiera como_puedo como_se hace_falta necesit*`,
  reach: { before: 4, behind: 0 },
};
